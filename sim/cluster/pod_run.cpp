// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/pod_run.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM to groups is POSIX

#include <algorithm>

namespace aliquot::sim::cluster {

using State = ContainerRun::State;

std::string_view to_text(Phase phase) {
    switch (phase) {
        case Phase::kPending:
            return "Pending";
        case Phase::kRunning:
            return "Running";
        case Phase::kSucceeded:
            return "Succeeded";
        case Phase::kFailed:
            return "Failed";
    }
    return "Unknown";
}

/// Returns true when all of them are done.
bool PodRun::tick_init_containers(TimePoint now) {
    // An init container runs until it succeeds, unless the pod must never try again.
    const RestartPolicy policy =
        policy_ == RestartPolicy::kNever ? RestartPolicy::kNever : RestartPolicy::kOnFailure;
    while (init_done_ < init_containers_.size()) {
        ContainerRun& container = init_containers_[init_done_];
        if (container.is_pause()) {  // an image's own entry point: assumed to succeed
            ++init_done_;
            continue;
        }
        container.tick(policy, now);
        if (container.state() != State::kEnded) return false;
        if (container.exit_code() != 0) {
            phase_ = Phase::kFailed;
            return false;
        }
        ++init_done_;
    }
    return true;
}

void PodRun::tick(TimePoint now) {
    if (phase_ == Phase::kSucceeded || phase_ == Phase::kFailed) return;
    if (phase_ == Phase::kPending && !tick_init_containers(now)) return;
    phase_ = Phase::kRunning;
    for (ContainerRun& container : containers_) container.tick(policy_, now);
    const auto ended = [](const ContainerRun& each) { return each.state() == State::kEnded; };
    if (!std::ranges::all_of(containers_, ended)) return;
    const auto good = [](const ContainerRun& each) { return each.exit_code() == 0; };
    phase_ = std::ranges::all_of(containers_, good) ? Phase::kSucceeded : Phase::kFailed;
}

void PodRun::signal(int number) {
    for (ContainerRun& container : init_containers_) container.signal(number);
    for (ContainerRun& container : containers_) container.signal(number);
}

void PodRun::stop(std::chrono::milliseconds grace) {
    signal(SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + grace;
    const auto stop_one = [&](ContainerRun& container) {
        const auto left = deadline - std::chrono::steady_clock::now();
        container.stop(std::max(std::chrono::milliseconds(0),
                                std::chrono::duration_cast<std::chrono::milliseconds>(left)));
    };
    std::ranges::for_each(init_containers_, stop_one);
    std::ranges::for_each(containers_, stop_one);
}

std::string PodRun::reason() const {
    const bool init = phase_ == Phase::kPending && init_done_ < init_containers_.size();
    const auto last_words = [](const ContainerRun& container) {
        return "container " + container.plan().name + ": " + container.ending();
    };
    if (init || (phase_ == Phase::kFailed && init_done_ < init_containers_.size())) {
        const ContainerRun& container = init_containers_[init_done_];
        if (container.state() == State::kBackOff) {
            return "Init:CrashLoopBackOff: " + last_words(container);
        }
        if (phase_ == Phase::kFailed) return "Init:Error: " + last_words(container);
        return "Init:" + std::to_string(init_done_) + "/" +
               std::to_string(init_containers_.size()) + ": container " + container.plan().name +
               " is running";
    }
    for (const ContainerRun& container : containers_) {
        if (container.state() == State::kBackOff) {
            return "CrashLoopBackOff: " + last_words(container) + ", restarts " +
                   std::to_string(container.restarts());
        }
        if (phase_ == Phase::kFailed && container.exit_code() != 0) return last_words(container);
    }
    return {};
}

bool PodRun::is_crashing() const {
    const auto crashing = [](const ContainerRun& each) {
        return each.state() == State::kBackOff && each.exit_code() != 0;
    };
    return std::ranges::any_of(containers_, crashing) ||
           std::ranges::any_of(init_containers_, crashing);
}

unsigned PodRun::restarts() const {
    unsigned sum = 0;
    for (const ContainerRun& container : containers_) sum += container.restarts();
    for (const ContainerRun& container : init_containers_) sum += container.restarts();
    return sum;
}

TimePoint PodRun::changed() const {
    TimePoint newest;
    for (const ContainerRun& container : init_containers_) {
        newest = std::max(newest, container.changed());
    }
    for (const ContainerRun& container : containers_)
        newest = std::max(newest, container.changed());
    return newest;
}

}  // namespace aliquot::sim::cluster
