// SPDX-License-Identifier: Apache-2.0
#include "guard/share.h"

#include "guard/admission.h"
#include "guard/kernel.h"
#include "guard/lane.h"
#include "guard/session.h"

namespace aliquot::guard {

std::atomic<std::uint32_t> g_launch_mode{kLaunchMetered};
constinit thread_local Recent t_recent = {};

namespace {

constexpr std::uint64_t kRefresh = 10'000'000;

std::atomic<std::uint32_t> g_used{0};  // bit by place: there were launches
std::atomic<std::uint64_t> g_refreshed_ns{0};

/// The lane takes part in the batch of which this thread has drawn launches.
__attribute__((noinline)) bool joins(const Recent& last, Lane& lane) {
    const Inside inside;
    if (!inside) return false;
    const CaptureRelaxed relaxed;
    const ThreadLocked locked(last.meter->lock);
    if (epoch_of(*last.meter) != last.epoch || !last.meter->is_open()) return false;
    last.meter->enter(lane);
    return true;
}

/// Two threads may do so at once: whoever is late sees that, and sets what counts now.
void set_mode(std::uint32_t mode) {
    if (g_launch_mode.exchange(mode) == mode) return;
    for (;;) {
        route_launches(mode == kLaunchPassed);
        const std::uint32_t now = g_launch_mode.load();
        if (now == mode) return;
        mode = now;
    }
}

bool share_is_set() {
    for (unsigned place = 0; place < abi::kRegionDevices; ++place)
        if (g_ledger.knows(place)) {
            const Share share = share_of(place);
            if (share.cap_ppm != 0 || share.weight != 0) return true;
        }
    return false;
}

/// Calls `act` for each device on which something may be under way, under its meter's lock.
template <class Act>
void for_each_busy(Act act) {
    const std::uint32_t used = g_used.load(std::memory_order_acquire);
    for (unsigned place = 0; used >> place != 0; ++place) {
        Gate& gate = g_gates[place];
        if ((used & 1U << place) == 0 || gate.is_busy.load(std::memory_order_relaxed) == 0)
            continue;
        const ThreadLocked locked(gate.meter.lock);
        act(place, gate);
    }
}

/// Under the meter's lock: nothing is under way, so others may have the turn.
void rest_turn(unsigned place, Gate& gate) {
    Turns* turns = joined_turns(place);
    if (turns == nullptr) return;
    if (turns->is_late()) turns->pass_on();
    if (!turns->is_mine()) return;
    turns->rest();
    // The next launch has to say that there is work again.
    gate.meter.epoch.fetch_add(1, std::memory_order_release);
}

}  // namespace

bool is_current_context(CUcontext context) {
    CUcontext current = nullptr;
    return g_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context;
}

std::uint32_t epoch_of(const Meter& meter) { return meter.epoch.load(std::memory_order_acquire); }

void pass_launches() { set_mode(kLaunchPassed); }

void refresh_share() {
    const std::uint64_t now = kernel::now_ns();
    std::uint64_t last = g_refreshed_ns.load(std::memory_order_relaxed);
    if (now - last < kRefresh || !g_refreshed_ns.compare_exchange_strong(last, now)) return;
    set_mode(share_is_set() ? kLaunchMetered : kLaunchPassed);
}

bool goes_on_in(CUstream stream, bool per_thread) {
    Recent& last = t_recent;
    if (!has_drawn(last) || is_default_stream(stream) ||
        g_captures.load(std::memory_order_relaxed) != 0)
        return false;
    Lane* const lane = find_lane(lane_key(stream, per_thread, nullptr));
    if (lane == nullptr || lane->place != last.lane->place) return false;
    if (last.measured) {
        if (lane->thread != nullptr || last.lane->thread != nullptr) return false;
        if (lane->epoch.load(std::memory_order_relaxed) != last.epoch && !joins(last, *lane))
            return false;
    }
    last.stream = stream;
    last.per_thread = per_thread;
    last.lane = lane;
    last.context = nullptr;
    --last.credit;
    return true;
}

void enter_launch(CUstream stream, bool per_thread) {
    const Recent& last = t_recent;
    const Inside inside;
    if (!inside || is_capturing(stream, per_thread)) return;
    const CaptureRelaxed relaxed;
    Lane* lane = nullptr;
    if (!is_default_stream(stream)) lane = find_lane(lane_key(stream, per_thread, nullptr));
    if (lane == nullptr) lane = lane_of(stream, per_thread);
    if (lane == nullptr) return;
    const unsigned place = lane->place;
    g_used.fetch_or(1U << place, std::memory_order_release);
    admit(*lane, stream, per_thread);
    if (!last.measured) refresh_share();
}

void leave_launch() {
    Recent& last = t_recent;
    const Inside inside;
    if (!inside) return;
    const CaptureRelaxed relaxed;
    Meter& meter = *last.meter;
    const std::uint64_t made_ns = last.single ? kernel::now_ns() : 0;
    const ThreadLocked locked(meter.lock);
    const bool is_own = last.lane->thread != nullptr;
    if (is_own && last.single) meter.close_own(*last.lane, false);
    if (last.epoch != epoch_of(meter)) {
        if (is_own)
            meter.close_own(*last.lane, false);
        else
            meter.catch_up(*last.lane);
        last.credit = 0;
        last.measured = false;
        return;
    }
    if (last.single)
        meter.note_launched(*last.lane, made_ns);
    else if (last.credit == 0 && !meter.has_left())
        meter.close(0);
    last.single = false;
    if (last.credit == 0) last.measured = false;
}

void after_copy() {
    const Recent& last = t_recent;
    if (last.meter == nullptr || !last.measured) return;
    {
        const ThreadLocked locked(last.meter->lock);
        if (last.epoch == epoch_of(*last.meter)) last.meter->note_copy();
    }
    after_launch();
}

void before_hold(CUstream stream, bool per_thread) {
    const Inside inside;
    if (!inside || is_capturing(stream, per_thread)) return;
    const CaptureRelaxed relaxed;
    Lane* lane = lane_of(stream, per_thread);
    if (lane == nullptr) return;
    Meter& meter = g_gates[lane->place].meter;
    const ThreadLocked locked(meter.lock);
    if (lane->start != nullptr) meter.close(take_unspent(meter));
    meter.hold(*lane);
}

void before_wait() {
    const Inside inside;
    if (!inside) return;
    const CaptureRelaxed relaxed;
    for_each_busy([](unsigned, Gate& gate) {
        if (gate.meter.is_open())
            gate.meter.close_soon(take_unspent(gate.meter));
        else
            gate.meter.note_wait();
    });
}

void before_next_look() {
    const Inside inside;
    if (!inside) return;
    const CaptureRelaxed relaxed;
    for_each_busy([](unsigned, Gate& gate) {
        if (gate.meter.is_open()) gate.meter.close_soon(take_unspent(gate.meter));
    });
}

void after_wait() {
    const Inside inside;
    if (!inside) return;
    const CaptureRelaxed relaxed;
    for_each_busy([](unsigned place, Gate& gate) {
        if (joined_turns(place) != nullptr)
            gate.meter.harvest();
        else
            gate.meter.harvest_sometimes(kernel::now_ns());
        gate.meter.note_pause();
        if (gate.meter.is_open() || gate.meter.in_flight() != 0) return;
        gate.is_busy.store(0, std::memory_order_relaxed);
        rest_turn(place, gate);
    });
    const std::uint32_t used = g_used.load(std::memory_order_acquire);
    for (unsigned place = 0; used >> place != 0; ++place) {
        Gate& gate = g_gates[place];
        const Turns* turns = joined_turns(place);
        if (turns == nullptr || !turns->is_mine() || gate.is_busy.load() != 0) continue;
        const ThreadLocked locked(gate.meter.lock);
        if (gate.is_busy.load() == 0) rest_turn(place, gate);
    }
    refresh_share();
}

void drop_share_of_stream(CUstream stream) {
    if (is_default_stream(stream)) return;
    Lane* lane = find_lane(lane_key(stream, false, nullptr));
    if (lane == nullptr) return;
    const Inside inside;
    const CaptureRelaxed relaxed;
    Meter& meter = g_gates[lane->place].meter;
    const ThreadLocked locked(meter.lock);
    meter.close(take_unspent(meter));
    meter.drop(*lane);
    meter.epoch.fetch_add(1, std::memory_order_release);
    remove_lane(*lane);
}

void drop_share(CUcontext context) {
    if (context == nullptr) return;
    for_each_lane(context, [](Lane& lane) {
        Meter& meter = g_gates[lane.place].meter;
        const ThreadLocked locked(meter.lock);
        meter.close(take_unspent(meter));
        meter.drop(lane);
        meter.epoch.fetch_add(1, std::memory_order_release);
        remove_lane(lane);
    });
    for (Gate& gate : g_gates) {
        const ThreadLocked locked(gate.meter.lock);
        gate.meter.drop(context);
    }
}

void forget_share() {
    forget_admission();
    forget_lanes();
    g_used.store(0);
    t_recent = Recent{};
    // Whatever the mode says: who was about to route them is not there any more.
    g_launch_mode.store(kLaunchMetered);
    route_launches(false);
}

}  // namespace aliquot::guard
