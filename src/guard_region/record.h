// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::guard_region {

/// What the agent notes of a region that it has made, beside the files that the container sees.
struct Record {
    std::string id;                       // 32 hexadecimal digits; names its directory
    std::string resource;                 // "nvidia.com/gpu"
    std::vector<std::string> device_ids;  // as kubelet named them in Allocate, sorted
    std::vector<std::string> uuids;       // of the GPUs or MIG devices, by place in the config
    std::string library;                  // version of the guard that is mounted
    std::int64_t created_us = 0;          // Unix time; of two regions of a node never the same
    std::string holder;                   // "namespace/pod/container"; empty: not known yet
    std::uint64_t ledger = 0;             // Ledger::region of its ledger; 0: of an older agent
    std::uint64_t ledger_bytes = 0;       // how large it is; 0: of an older agent
    std::vector<std::string> groups;      // control groups of its container, the last ones
    friend bool operator==(const Record&, const Record&) = default;
};

/// One line for each value; the inverse of parse_record(). `id` is not in it: the directory has it.
std::string to_text(const Record& record);

/// errors   kInvalidInput: not written by to_text() of this version
Result<Record> parse_record(std::string_view text);

}  // namespace aliquot::guard_region
