// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "guard_region/config_file.h"
#include "guard_region/ledger.h"

namespace aliquot::guard_region {

/// What processes held besides what their guards count, over the last looks. A guard counts before
/// the driver gives, so that a figure taken in between is too low: the largest of the last few is
/// meant. Not thread-safe.
class OverheadHistory {
public:
    static constexpr unsigned kLooks = 4;  // two seconds

    /// Puts the largest of the last kLooks figures in the place of each figure of this look.
    /// ledger   of the same look: a process without a context on a device has no history there
    /// uuids    by place in the config
    void smooth(const std::string& region, const LedgerView& ledger,
                const std::vector<std::string>& uuids, std::vector<SlotTruth>& truths);

    /// Ends a look at all regions: processes that were not in it are forgotten.
    void end_look();

private:
    using Key = std::tuple<std::string, unsigned, std::uint64_t>;  // region, slot, its owner
    struct Figures {
        std::array<std::uint64_t, kLooks> bytes{};
        unsigned count = 0;  // ever taken
    };
    struct Process {
        std::map<std::size_t, Figures> devices;  // by place in the config
        bool seen = false;                       // in this look
    };
    std::map<Key, Process> processes_;
};

}  // namespace aliquot::guard_region
