// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"

namespace aliquot::guard {

struct Mark;

/// One stream (or a context's default stream) on which this process launches. Never freed, so that
/// a thread may keep a pointer to it. What is not said to be atomic is set before the lane can be
/// found, or changes under the lock of its device's meter.
struct Lane {
    std::atomic<std::uint64_t> key{0};    // 0: unused
    std::atomic<std::uint32_t> epoch{0};  // of the meter, when it was opened last
    unsigned place = 0;                   // in the ledger
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    const void* thread = nullptr;  // a thread's own default stream: only it can reach that; nullptr
    bool per_thread = false;       // which form of the entry points means it

    Mark* start = nullptr;        // work is under way since here; nullptr: none
    Mark* last = nullptr;         // the end of what was closed last
    std::uint64_t called_ns = 0;  // its work was launched after that; 0: it was at work before
    bool follows = false;         // `start` is the end of what was before
    std::uint64_t made_ns = 0;    // when its last launch had been made; 0: not known
    std::uint32_t launches = 0;   // since start
    unsigned batch = 0;           // that it is under way for
    bool is_held = false;  // something is in it that waits, so a mark may be passed much later
    Lane* next_free = nullptr;
};

/// What names the lane of a stream; a default stream is one per context, or per context and thread.
std::uint64_t lane_key(CUstream stream, bool per_thread, CUcontext context);
inline bool is_default_stream(CUstream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= CU_STREAM_PER_THREAD_VALUE;
}
/// Names the calling thread.
const void* this_thread();

/// Without a lock and at the same cost however many there are. nullptr: there is none.
Lane* find_lane(std::uint64_t key);
/// The lane of a stream in the current context; made if there is none.
/// returns  nullptr: no context, or too many streams (65,536)
Lane* lane_of(CUstream stream, bool per_thread);
/// The stream is gone.
void remove_lane(Lane& lane);

/// All lanes of a context, or of all when that is nullptr, one by one.
void for_each_lane(CUcontext context, void (*visit)(Lane& lane));
/// In the child of a fork: there are none.
void forget_lanes();

}  // namespace aliquot::guard
