// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"
#include "guard/lock.h"

namespace aliquot::guard {

/// Work of one stream between two of the driver's events.
struct Segment {
    CUevent start;
    CUevent end;
    bool owns_start;  // else it is the end of the segment before
    std::uint32_t launches;
    std::uint64_t opened_ns;   // CLOCK_MONOTONIC
    std::uint64_t charged_ns;  // to the container until then
    std::uint64_t lane_ns;     // of it, for this lane
};

/// One stream (or a context's default stream) on which this process launches. Never freed, so that
/// a thread may keep a pointer to it; all zero is unused.
struct Lane {
    std::atomic<std::uint64_t> key{0};     // 0: unused
    std::atomic<std::uint32_t> credit{0};  // launches until the next checkpoint
    std::atomic<std::uint32_t> seen{0};    // the turn word when they were given
    const std::atomic<std::uint32_t>* word =
        nullptr;  // where to look; one that never changes without turns

    ThreadLock lock;  // for all that follows
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    bool per_thread = false;
    bool untimed = false;  // the driver gave no events here
    unsigned place = 0;

    static constexpr unsigned kPending = 4;
    Segment open = {};  // start: nullptr: none
    Segment pending[kPending] = {};
    unsigned pending_count = 0;
    CUevent spare[2 * kPending + 2] = {};
    unsigned spare_count = 0;
    std::uint64_t charged_ns = 0;  // for this lane, ever
    std::uint64_t launch_ns = 0;   // of late, per launch; 0: not known
    std::uint32_t batch = 0;       // launches per segment
};

/// The lane of a stream; made if there is none. nullptr: too many, or no context.
Lane* lane_of(CUstream stream, bool per_thread);
/// All lanes that were ever used.
Lane* lanes(unsigned& count);

/// Under the lane's lock. Ends the open segment here in the stream.
void close_segment(Lane& lane);
/// Opens one: from here, or from the end of the last where the device is still at that.
void open_segment(Lane& lane);
/// Books what has been done.
void harvest(Lane& lane);
/// Waits until at most `count` segments are pending, at most `longest_ns`.
/// returns  false: not in time
bool wait_pending(Lane& lane, unsigned count, std::uint64_t longest_ns);
/// The stream or context is gone and the events with it.
void abandon(Lane& lane, bool destroy_events);

}  // namespace aliquot::guard
