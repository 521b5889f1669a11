// SPDX-License-Identifier: Apache-2.0
#include "nvml/fault_watch.h"

#include <algorithm>

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// How long a pause waits for the waits under way: each ends within a slice, unless it hangs.
constexpr std::chrono::milliseconds kPausePatience{1000};
/// How long a GPU may take to be listened to at all before others are told of without it.
constexpr std::chrono::milliseconds kFirstLook{1000};

}  // namespace

struct FaultWatch::Inbox {
    struct Wait {
        bool under_way = false;
        bool looked = false;                 // once since it was listened to the last time
        SteadyClock::time_point first{};     // when the first look began
        std::optional<Error> problem;        // of the last one
        SteadyClock::time_point not_before;  // where waiting is not to be had, or failed
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<gpu::FaultEvent> events;
    std::map<unsigned, Wait> waits;  // by the GPU's index

    void end(unsigned index, std::chrono::milliseconds slice, Result<FaultEvents::Look> look) {
        const std::lock_guard lock(mutex);
        Wait& wait = waits[index];
        wait.under_way = false;
        wait.looked = true;
        wait.problem.reset();
        wait.not_before = {};
        if (!look) wait.problem = look.error();
        if (!look || !look->listening) wait.not_before = SteadyClock::now() + slice;
        if (look) std::ranges::move(look->events, std::back_inserter(events));
        changed.notify_all();
    }
    /// Until when GPUs are waited for that are not listened to yet; nullopt: for none.
    [[nodiscard]] std::optional<SteadyClock::time_point> deaf_until(unsigned gpus) const {
        std::optional<SteadyClock::time_point> until;
        for (const auto& [index, wait] : waits) {
            if (index >= gpus || wait.looked || !wait.under_way) continue;
            until = std::max(until.value_or(SteadyClock::time_point{}), wait.first + kFirstLook);
        }
        return until;
    }
    /// Nobody can be waited for, and nobody is.
    [[nodiscard]] const Error* hopeless(unsigned gpus) const {
        const Error* problem = nullptr;
        for (const auto& [index, wait] : waits) {
            if (index >= gpus) continue;
            if (wait.under_way || !wait.problem) return nullptr;
            problem = &*wait.problem;
        }
        return problem;
    }
};

std::shared_ptr<FaultWatch::Inbox> FaultWatch::make_inbox() { return std::make_shared<Inbox>(); }

FaultWatch::~FaultWatch() = default;

std::shared_ptr<Lane> FaultWatch::lane_of(unsigned index) {
    const std::lock_guard lock(mutex_);
    auto& lane = lanes_[index];
    if (!lane) lane = std::make_shared<Lane>(attachment_, root_, options_, index);
    return lane;
}

void FaultWatch::begin_waits(unsigned gpus, std::chrono::milliseconds slice) {
    if (pauses_ > 0) return;
    for (unsigned index = 0; index < gpus; ++index) {
        // The first look only begins to listen: a fault after that is heard, however late the next is.
        std::chrono::milliseconds patience = slice;
        {
            const std::lock_guard lock(inbox_->mutex);
            Inbox::Wait& wait = inbox_->waits[index];
            if (wait.under_way || SteadyClock::now() < wait.not_before) continue;
            wait.under_way = true;
            if (!wait.looked) {
                wait.first = SteadyClock::now();
                patience = std::chrono::milliseconds(0);
            }
        }
        const auto asked = lane_of(index)->begin<Done>(
            "wait for faults of GPU " + std::to_string(index), options_.deadline + slice,
            [inbox = inbox_, index, slice, patience](Session& session) -> Result<Done> {
                inbox->end(index, slice, session.look_for_faults(patience));
                return Done{};
            });
        if (!asked.begun) inbox_->end(index, slice, asked.begun.error());
    }
}

Result<std::vector<gpu::FaultEvent>> FaultWatch::wait(unsigned gpus,
                                                      std::chrono::milliseconds slice,
                                                      std::chrono::milliseconds timeout) {
    const auto end = SteadyClock::now() + timeout;
    for (;;) {
        begin_waits(gpus, slice);
        std::unique_lock lock(inbox_->mutex);
        if (!inbox_->events.empty()) return std::exchange(inbox_->events, {});
        const Error* const problem = inbox_->hopeless(gpus);
        if (problem != nullptr) return *problem;
        const auto now = SteadyClock::now();
        const auto until = std::max(end, inbox_->deaf_until(gpus).value_or(end));
        if (now >= until) return std::vector<gpu::FaultEvent>{};
        inbox_->changed.wait_until(lock, std::min(until, now + slice));
    }
}

FaultWatch::Pause::Pause(FaultWatch& watch) : watch_(watch) {
    ++watch_.pauses_;
    {
        const std::lock_guard lock(watch_.inbox_->mutex);
        for (auto& [index, wait] : watch_.inbox_->waits) wait.looked = false;
    }
    std::vector<std::pair<std::shared_ptr<Lane>, Lane::Asked<Done>>> asked;
    {
        const std::lock_guard lock(watch_.mutex_);
        for (const auto& [index, lane] : watch_.lanes_) {
            asked.emplace_back(lane, lane->begin<Done>("end of listening", kPausePatience,
                                                       [](Session& session) -> Result<Done> {
                                                           session.stop_listening();
                                                           return Done{};
                                                       }));
        }
    }
    const auto end = SteadyClock::now() + kPausePatience;
    for (const auto& [lane, stop] : asked) (void)lane->wait(stop, end);
}

std::optional<Hang> FaultWatch::hang(unsigned index) const {
    const std::lock_guard lock(mutex_);
    const auto lane = lanes_.find(index);
    if (lane == lanes_.end()) return std::nullopt;
    auto hang = lane->second->hang();
    if (hang) hang->since += kSlice;  // so long it may have waited rightly
    return hang;
}

}  // namespace aliquot::nvml
