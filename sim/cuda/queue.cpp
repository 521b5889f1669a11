// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/queue.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "sim/cuda/stream.h"
#include "sim/node/engine.h"
#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kLongestSleepNs = 100'000'000;   // then look whether the node still stands
constexpr std::uint64_t kContendedSleepNs = 20'000'000;  // then look whether the others live
constexpr std::uint64_t kNoTimeNs = 3'000;               // not worth a sleep

/// Sleeps until a time of the monotonic clock, as exactly as the kernel can.
void sleep_until(std::uint64_t now_ns, std::uint64_t time_ns) {
    if (time_ns <= now_ns + kNoTimeNs) {
        while (monotonic_ns() < time_ns) continue;
        return;
    }
    const int kept = errno;
    const auto slack = ::prctl(PR_GET_TIMERSLACK);
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    const timespec until{.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(time_ns % 1'000'000'000)};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    if (slack > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
    errno = kept;
}

}  // namespace

void Queue::collect(State& state, unsigned entry, std::uint64_t now_ns) {
    const WorkState& work = state.work[entry];
    const std::uint64_t executed = work.executed_ns - origin_;
    std::erase_if(watched_, [&](CUevent_st* event) {
        if (event->mark != CUevent_st::kNoMark) {
            const std::uint64_t reached = work.marks[event->mark % kMaxMarks].reached_ns;
            if (reached == 0) return false;
            event->time_ns = reached;
            return true;
        }
        if (event->position > executed) return false;
        // No mark was free for it: the best guess is that nothing came between.
        event->time_ns = std::min(work.ran_until_ns, now_ns) - (executed - event->position);
        return true;
    });
}

void Queue::set_marks(State& state, unsigned entry) {
    for (CUevent_st* const event : watched_) {
        if (event->mark != CUevent_st::kNoMark) continue;
        const auto mark = set_mark(state, entry, event->position + origin_);
        if (!mark) return;
        event->mark = *mark;
    }
}

void Queue::run_effects(std::uint64_t executed) {
    while (!pending_.empty() && pending_.begin()->first <= executed) {
        const Effect effect = std::move(pending_.begin()->second);
        pending_.erase(pending_.begin());
        effect();
    }
    const std::uint64_t done = std::min(executed, submitted_.load(std::memory_order_relaxed));
    if (done > done_.load(std::memory_order_relaxed)) {
        done_.store(done, std::memory_order_release);
    }
}

Queue::Outlook Queue::bring_up(State& state) {
    Outlook outlook{.now_ns = monotonic_ns()};
    const unsigned entry = account_.entry(state);
    const VisibleDevice& device = account_.device();
    outlook.lost = account_.shared().destroyed() || entry >= kMaxProcesses ||
                   state.gpus[device.slot].fault.lost != 0;
    if (outlook.lost) return outlook;
    if (entry != place_) {
        // We are new on the device, or somebody threw us off it: what was under way is over.
        place_ = entry;
        origin_ = state.work[entry].submitted_ns - end();
    }
    advance_engine(state, device.slot, device.where, outlook.now_ns);
    outlook.executed = state.work[entry].executed_ns - origin_;
    collect(state, entry, outlook.now_ns);
    set_marks(state, entry);
    return outlook;
}

Queue::Outlook Queue::look_ahead(std::uint64_t position) {
    const std::lock_guard guard(mutex_);
    Outlook outlook{.lost = true};
    {
        const auto state = account_.shared().lock();
        if (!state) return outlook;
        outlook = bring_up(**state);
        if (outlook.lost) return outlook;
        if (position > outlook.executed) {
            outlook.end_ns = predicted_end(**state, place_, position + origin_);
        }
    }
    run_effects(outlook.executed);
    return outlook;
}

std::uint64_t Queue::look() {
    const Outlook outlook = look_ahead(0);
    return outlook.lost ? end() : outlook.executed;
}

/// Work begins when as many slots are free as it takes. Returns its end.
std::uint64_t Queue::take_slots(std::uint64_t ready, const Work& work) {
    const unsigned count = std::clamp(work.slots, 1U, kSlots);
    const std::uint64_t end = std::max(ready, free_[count - 1]) + work.duration_ns;
    std::fill_n(free_.begin(), count, end);
    const auto later = std::upper_bound(free_.begin() + count, free_.end(), end);
    std::rotate(free_.begin(), free_.begin() + count, later);
    return end;
}

void Queue::submit(CUstream_st& stream, const Work& work, Effect effect) {
    const std::lock_guard guard(mutex_);
    const std::uint64_t ready = start_of(stream);
    std::uint64_t end = ready;
    if (work.duration_ns > 0) {
        Outlook outlook;
        {
            const auto state = account_.shared().lock();
            if (!state) return;
            outlook = bring_up(**state);
            if (outlook.lost) return;
            end = take_slots(std::max(ready, outlook.executed), work);
            const std::uint64_t before = this->end();
            if (end > before) {
                const std::uint64_t submitted = submit_work(**state, place_, end - before);
                submitted_.store(submitted - origin_, std::memory_order_release);
            }
        }
        if (outlook.executed > 0) run_effects(outlook.executed);
    }
    advance(stream, end);
    if (!effect) return;
    if (reached_quickly(end))
        effect();
    else
        pending_.emplace(end, std::move(effect));
}

CUresult Queue::wait(std::uint64_t position) {
    if (reached_quickly(position)) return CUDA_SUCCESS;
    for (;;) {
        const Outlook outlook = look_ahead(position);
        if (outlook.lost) return CUDA_ERROR_UNKNOWN;
        if (outlook.executed >= position) return CUDA_SUCCESS;
        const std::uint64_t alone = outlook.now_ns + (position - outlook.executed);
        const bool contended = outlook.end_ns > alone + 1000;
        sleep_until(outlook.now_ns,
                    std::min(outlook.end_ns,
                             outlook.now_ns + (contended ? kContendedSleepNs : kLongestSleepNs)));
        if (contended && monotonic_ns() < outlook.end_ns) {
            if (const auto state = account_.shared().lock()) drop_dead_processes(**state);
        }
    }
}

void Queue::watch(CUevent_st& event) {
    const std::lock_guard guard(mutex_);
    event.mark = CUevent_st::kNoMark;
    watched_.push_back(&event);
    if (const auto state = account_.shared().lock()) (void)bring_up(**state);
}

void Queue::forget(CUevent_st& event) {
    const std::lock_guard guard(mutex_);
    std::erase(watched_, &event);
}

void Queue::drop() {
    const std::lock_guard guard(mutex_);
    pending_.clear();
    for (CUevent_st* const event : watched_) event->time_ns = monotonic_ns();
    watched_.clear();
    place_ = kMaxProcesses;
    done_.store(end(), std::memory_order_release);
}

}  // namespace aliquot::sim
