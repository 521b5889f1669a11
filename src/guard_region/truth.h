// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard_region/config_file.h"
#include "guard_region/ledger.h"
#include "guard_region/processes.h"

namespace aliquot::guard_region {

/// A process that holds memory of a device, by the driver.
struct Held {
    HostProcess process;
    std::optional<std::uint64_t> bytes;  // empty: the driver does not tell
    std::optional<unsigned> slot;        // that it has joined with; empty: it is not guarded
};

/// One device of a region, as the driver tells it.
struct DeviceReading {
    std::string uuid;
    bool answered = false;   // else `held` says nothing
    std::vector<Held> held;  // processes of this region's container
    [[nodiscard]] std::uint64_t held_bytes() const;
    [[nodiscard]] unsigned unguarded() const;
};

/// What each joined process holds besides what its guard counts. Pure.
///
///     overhead = what the driver says - (tracked - managed), at least 0
///
/// A figure counts only where the process changed nothing between the two looks at the ledger, of
/// which one was before and one after the question to the driver: an allocation in between would
/// be counted twice. Else the old figure stays.
///
/// before, after   the same ledger
/// devices         by place in the region's config
std::vector<SlotTruth> find_truths(const LedgerView& before, const LedgerView& after,
                                   const std::vector<DeviceReading>& devices);

/// Puts the figures that guards were told in the place of those in `ledger`: a process that makes no
/// call of the driver does not take them by itself.
void apply_truth(const ConfigFile& config, LedgerView& ledger);

}  // namespace aliquot::guard_region
