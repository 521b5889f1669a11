// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard_region/ledger.h"

namespace aliquot::guard_region {

/// What a region's processes have used of one device, ever: counters that never go back, also where
/// the ledger that they are counted in is lost.
struct Totals {
    std::string uuid;
    std::uint64_t denied = 0;
    std::uint64_t denied_bytes = 0;
    std::uint64_t gpu_ns = 0;
    std::uint64_t throttled_ns = 0;
    std::uint64_t launches = 0;
    std::uint64_t overruns = 0;
    friend bool operator==(const Totals&, const Totals&) = default;
};

/// Of the devices that a ledger knows.
std::vector<Totals> totals_of(const LedgerView& ledger);

/// A line for each; the inverse of parse_totals().
std::string to_text(const std::vector<Totals>& totals);

/// errors   kInvalidInput: not written by to_text() of this version
Result<std::vector<Totals>> parse_totals(std::string_view text);

}  // namespace aliquot::guard_region
