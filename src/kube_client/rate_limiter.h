// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace aliquot::kube_client {

/// A token bucket: `burst` at once from rest, then `per_second`. Who comes is told how long to
/// wait, in order. Thread-safe.
class RateLimiter {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Wait = std::chrono::nanoseconds;

    RateLimiter(unsigned burst, double per_second)
        : step_(static_cast<std::int64_t>(1e9 / std::max(per_second, 1e-3))),
          slack_(step_ * (std::max(burst, 1U) - 1)) {}

    /// Takes a place and returns how long to wait for it; nothing is taken, and the result is above
    /// `most`, when that would be longer.
    Wait take(Time now, Wait most) {
        const std::scoped_lock lock(mutex_);
        // next_ is when the bucket would be full again but for one: a debt in time.
        const Time due = std::max(next_, now - slack_);
        const Wait wait = due > now ? Wait(due - now) : Wait(0);
        if (wait <= most) next_ = due + step_;
        return wait;
    }

private:
    const Wait step_;
    const Wait slack_;
    std::mutex mutex_;
    Time next_ = Time::min();  // not Time{}: that is when the machine started, often minutes ago
};

/// Spreads waits so that many who failed together do not come back together: +-20 %.
class Jitter {
public:
    explicit Jitter(std::uint64_t seed) : state_(seed | 1U) {}

    std::chrono::milliseconds around(std::chrono::milliseconds wait) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        const auto percent = static_cast<std::int64_t>(80 + state_ % 41);
        return wait * percent / 100;
    }

private:
    std::uint64_t state_;
};

}  // namespace aliquot::kube_client
