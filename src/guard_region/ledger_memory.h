// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"
#include "guard_region/totals.h"
#include "os/root.h"

/// A ledger that is no file of the host: memory that can neither grow nor shrink (sealed), handed
/// over a socket. What a container writes into it is charged to the container.
namespace aliquot::guard_region {

/// region   Ledger::region; not 0
/// totals   what earlier ledgers of the same region have counted
/// errors   kUnavailable: the kernel has none, or no descriptor
Result<Descriptor> make_ledger_memory(std::uint64_t region, std::span<const Totals> totals);

/// For a guard whose kRegionAbi is not ours, which makes the content: zeros, and the region's number.
/// size     of its ledger; up to kMostLedgerBytes
/// errors   as above; kInvalidInput: the size
Result<Descriptor> make_unmade_ledger(std::uint64_t region, std::uint64_t size);
inline constexpr std::uint64_t kMostLedgerBytes = std::uint64_t{64} << 20U;

/// The ledger of that region, of whatever kRegionAbi, which most of these processes have, where they show it: as an open file
/// (which takes CAP_SYS_PTRACE, and of other users from Linux 5.14 on; CAP_DAC_READ_SEARCH before), or
/// only mapped (CAP_SYS_ADMIN, of other users CAP_DAC_READ_SEARCH, too). Nobody is believed more than that the
/// memory is of our kind and bears the region's number.
/// root     for /proc
/// errors   kNotFound
Result<Descriptor> find_ledger_memory(const os::Root& root, std::span<const pid_t> pids,
                                      std::uint64_t region);

}  // namespace aliquot::guard_region
