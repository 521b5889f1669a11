// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the guard counts of this process, asked so that the checks need not know of whom.
namespace aliquot::guardkit {

/// Bytes that this process allocated on the GPU, as the guard counts: its ledger's figure, or by
/// what the memory view shows for a guard without one of ours (then in steps of 2 MiB).
std::uint64_t counted(unsigned gpu = 0);

/// Fails unless the ledger's total of a GPU is the sum of its slots.
void check_sums(unsigned gpu = 0);
/// The books never said more than this.
void check_peak(std::uint64_t limit, unsigned gpu = 0);

/// Fails when the driver itself says that more is used than `limit` since physical_base().
void check_physical(std::uint64_t limit, unsigned gpu = 0);

}  // namespace aliquot::guardkit
