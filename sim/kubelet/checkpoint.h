// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::sim {

/// kubelet's key for devices without a NUMA node.
inline constexpr std::int64_t kNoNumaNode = -1;

/// What kubelet's device manager keeps over a restart.
struct Checkpoint {
    struct Entry {
        std::string pod_uid;
        std::string container;
        std::string resource;
        std::map<std::int64_t, std::vector<std::string>> ids_by_numa;
        std::string response;  // ContainerAllocateResponse, serialised
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;
    std::map<std::string, std::vector<std::string>> registered;  // resource -> healthy ids
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// The text of kubelet_internal_checkpoint. The checksum is one of our own: kubelet's is taken over
/// a printed Go value, so a real kubelet would refuse this file.
std::string to_json(const Checkpoint& checkpoint);

/// Reads our files and kubelet's; any checksum is accepted.
/// errors   kInvalidInput: not JSON, or not of this shape
Result<Checkpoint> parse_checkpoint(std::string_view text);

}  // namespace aliquot::sim
