// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"

namespace aliquot::os {

TimePoint SystemClock::now() const { return std::chrono::steady_clock::now(); }

bool SystemClock::sleep_until(TimePoint when, std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, stop, when, [] { return false; });
    return !stop.stop_requested();
}

TimePoint ManualClock::now() const {
    const std::scoped_lock lock(mutex_);
    return now_;
}

bool ManualClock::sleep_until(TimePoint when, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return now_ >= when; });
}

void ManualClock::advance(std::chrono::milliseconds step) {
    {
        const std::scoped_lock lock(mutex_);
        now_ += step;
    }
    changed_.notify_all();
}

}  // namespace aliquot::os
