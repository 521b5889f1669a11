// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace aliquot::os {

using TimePoint = std::chrono::steady_clock::time_point;

/// The seam to time: what waits or measures takes a Clock, so that a test can be the clock.
/// Thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual TimePoint now() const = 0;

    /// Sleeps until `when`. Returns false when a stop was requested first.
    virtual bool sleep_until(TimePoint when, std::stop_token stop) = 0;

    bool sleep_for(std::chrono::milliseconds duration, std::stop_token stop) {
        return sleep_until(now() + duration, std::move(stop));
    }
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const override;
    bool sleep_until(TimePoint when, std::stop_token stop) override;
};

/// Stands still until advance(); wakes the sleepers whose time has come.
class ManualClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const override;
    bool sleep_until(TimePoint when, std::stop_token stop) override;
    void advance(std::chrono::milliseconds step);

private:
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    TimePoint now_{};
};

}  // namespace aliquot::os
