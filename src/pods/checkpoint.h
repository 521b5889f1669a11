// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::pods {

/// What kubelet's device manager has written down: these devices are this container's. An entry
/// stays after its pod has ended, until kubelet needs room for another pod.
struct CheckpointEntry {
    std::string pod_uid;
    std::string container;
    std::string resource;
    std::vector<std::string> ids;  // sorted, each once
    friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
    friend auto operator<=>(const CheckpointEntry&, const CheckpointEntry&) = default;
};

inline constexpr std::size_t kMostCheckpointBytes = 16U << 20U;
inline constexpr std::size_t kMostCheckpointEntries = 20'000;

/// Reads the text of kubelet_internal_checkpoint, in the form that has the devices by NUMA node
/// and in the older one with a plain list. An entry that does not look like one is passed over:
/// the file is kubelet's own and may change. The checksum is kubelet's business.
/// returns  entries, sorted
/// errors   kInvalidInput: no JSON, or no list of entries in it, or too many
Result<std::vector<CheckpointEntry>> parse_checkpoint(std::string_view text);

}  // namespace aliquot::pods
