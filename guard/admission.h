// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"
#include "abi/region.h"
#include "guard/meter.h"
#include "guard/turns.h"
#include "guard/waiting_line.h"

/// Who may launch now: this process' way to a share of each device.
namespace aliquot::guard {

struct Lane;

/// What threads that launch on one device go through.
struct Gate {
    Meter meter;
    WaitingLine line;                       // under the meter's lock
    std::uint64_t draining_ns = 0;          // under it: since when, to pass the turn on; 0: not
    bool is_paying = false;                 // under it: a debt is being paid
    std::uint64_t vain_ns = 0;              // under it: waited for turns since one came
    std::uint64_t turns_off_ns = 0;         // under it: how long turns are left alone the next time
    std::uint64_t turns_off_until_ns = 0;   // under it
    std::atomic<std::uint32_t> is_busy{0};  // something may be under way
};

extern constinit Gate g_gates[abi::kRegionDevices];  // by place in the ledger

struct Share {
    std::uint32_t cap_ppm = 0;
    std::uint32_t weight = 0;
};

Share share_of(unsigned place);
/// The turns of a device; nullptr: there are none now.
Turns* joined_turns(unsigned place);
/// What this thread has drawn of the open batch and not made; it is void.
std::uint32_t take_unspent(const Meter& meter);

/// Waits until this thread may launch in the lane, and draws launches: t_recent tells how many.
void admit(Lane& lane, CUstream stream, bool per_thread);

/// In the child of a fork.
void forget_admission();

}  // namespace aliquot::guard
