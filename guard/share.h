// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"

/// A container's share of the GPU's time. Work is measured by events of the driver around batches
/// of launches (meter.h): in time, not in blocks, so that neither the size of a grid nor a graph makes
/// a difference. The share is the container's: every thread that launches is held when the container
/// is over it, and goes on in the order in which it came. All waiting is done by the thread that
/// launches, without a lock, and has an end.
namespace aliquot::guard {

struct Lane;
class Meter;

enum LaunchMode : std::uint32_t {
    kLaunchPassed = 0,   // no share is set: straight to the driver
    kLaunchMetered = 1,  // also until a device is known: nobody knows its share before
};
extern std::atomic<std::uint32_t> g_launch_mode;

void pass_launches();
/// Sends the entry points of launches straight to the driver, or through the guard (launch.cpp).
void route_launches(bool passes);
/// Looks whether a share is set now; the agent may change it at any time.
void refresh_share();

/// What the calling thread launched last, and how many more launches it has drawn.
struct Recent {
    CUstream stream;
    Lane* lane;
    Meter* meter;
    const std::atomic<std::uint32_t>* turn;  // changes when there is something to look at
    CUcontext context;                       // of a default stream; nullptr: it is none
    std::uint32_t epoch;                     // of the meter, when they were drawn
    std::uint32_t seen;                      // of `turn`, then
    std::uint32_t credit;
    bool per_thread;
    bool measured;
    bool single;  // the one launch that was drawn is not made yet
};
extern constinit thread_local Recent t_recent;

/// Counts a launch in another stream of the device that this thread has drawn launches on.
bool goes_on_in(CUstream stream, bool per_thread);
/// The part of these that is rarely needed.
void enter_launch(CUstream stream, bool per_thread);
void leave_launch();
bool is_current_context(CUcontext context);
std::uint32_t epoch_of(const Meter& meter);

/// What this thread has drawn last is not void: nothing has happened that has to be looked at.
inline bool has_drawn(const Recent& last) {
    return last.credit != 0 && epoch_of(*last.meter) == last.epoch &&
           last.turn->load(std::memory_order_relaxed) == last.seen;
}
/// Counts a launch in the stream of the last one, where that was drawn.
__attribute__((always_inline)) inline bool takes_drawn(CUstream stream, bool per_thread) {
    Recent& last = t_recent;
    if (last.stream != stream || last.per_thread != per_thread || !has_drawn(last)) return false;
    if (last.context != nullptr && !is_current_context(last.context)) return false;
    --last.credit;
    return true;
}

/// Before a launch, a copy, or whatever else the device does: waits for this container's turn or
/// share, and counts it.
inline void before_launch(CUstream stream, bool per_thread) {
    if (__builtin_expect(takes_drawn(stream, per_thread) || goes_on_in(stream, per_thread), 1))
        return;
    enter_launch(stream, per_thread);
}
/// After it was given to the driver.
inline void after_launch() {
    const Recent& last = t_recent;
    if (__builtin_expect(last.meter != nullptr && last.measured &&
                             (last.credit == 0 || epoch_of(*last.meter) != last.epoch),
                         0))
        leave_launch();
}

/// The same after a copy, whose call may take as long as the device does.
void after_copy();

/// Before something goes into a stream that holds it up and is no work: a word that it waits for, a
/// function of the host.
void before_hold(CUstream stream, bool per_thread);

/// Around calls by which the program waits for the device, or asks whether it is done.
void before_wait();
void after_wait();
/// The program has asked and the device is not done: what it has launched ends here, since by the time
/// that it asks again the device may have been idle.
void before_next_look();

/// A stream or context will be gone; nullptr: nothing.
void drop_share_of_stream(CUstream stream);
void drop_share(CUcontext context);

/// In the child of a fork.
void forget_share();

}  // namespace aliquot::guard
