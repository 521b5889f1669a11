// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cost/interval.h"

namespace aliquot::cost {

/// What one owner, or nobody, had of one GPU (or of a node's CPU and memory) in one hour at one price.
struct Row {
    TimeMs hour = 0;  // its beginning, UTC
    NameId node = 0;
    NameId device = 0;  // 0: CPU and memory only
    NameId part = 0;
    NameId model = 0;
    NameId price = 0;
    OwnerId owner = 0;
    State state = State::kFree;
    Micros gpu = 0;
    Micros cpu = 0;
    Micros memory = 0;
    std::int64_t gpu_ms = 0;   // of a whole GPU
    std::int64_t core_ms = 0;  // of a core of the node
    std::int64_t mib_s = 0;    // of a MiB of its memory
    std::uint64_t energy_millijoules = 0;
    [[nodiscard]] Micros total() const { return gpu + cpu + memory; }
    friend bool operator==(const Row&, const Row&) = default;
};

/// What a node cost in one hour at one price: `rate` times the part of the hour it was watched, rounded to the nearest.
struct Bill {
    TimeMs hour = 0;
    NameId node = 0;
    NameId price = 0;
    TimeMs watched_ms = 0;
    Micros amount = 0;
    friend bool operator==(const Bill&, const Bill&) = default;
};

struct Allocation {
    std::vector<Row> rows;    // by node, hour; those of one price together
    std::vector<Bill> bills;  // the rows of a node, hour and price add up to its bill, to the unit
};

/// The hour that a time is in, also before 1970.
constexpr TimeMs hour_of(TimeMs time) {
    const TimeMs past = time % kHourMs;
    return time - (past < 0 ? past + kHourMs : past);
}

}  // namespace aliquot::cost
