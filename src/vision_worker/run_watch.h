// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "os/clock.h"

namespace aliquot::vision_worker {

/// Whether the device answers. kLate: not within the limit; kHung: not within six times the limit.
enum class Stall : std::uint8_t { kNone, kLate, kHung };

/// What the device was asked last and has not answered yet. One thread asks, any thread looks.
class RunWatch {
public:
    /// kBuilding: what is made once, as a TensorRT engine is; it may take thirty times as long.
    enum class Work : std::uint8_t { kUsual, kBuilding };

    void begin(os::TimePoint now, Work work) {
        work_ = work;
        since_ = now.time_since_epoch().count();
        asked_ = true;
    }
    void end() { asked_ = false; }

    [[nodiscard]] Stall stall(os::TimePoint now, std::chrono::milliseconds limit) const {
        constexpr int kBuildingTimes = 30;
        constexpr int kHungTimes = 6;
        if (!asked_) return Stall::kNone;
        const os::TimePoint since{os::TimePoint::duration(since_.load())};
        if (work_ == Work::kBuilding) limit *= kBuildingTimes;
        if (now - since <= limit) return Stall::kNone;
        return now - since <= limit * kHungTimes ? Stall::kLate : Stall::kHung;
    }

private:
    std::atomic<Work> work_{Work::kUsual};
    std::atomic<os::TimePoint::rep> since_{0};
    std::atomic<bool> asked_{false};
};

}  // namespace aliquot::vision_worker
