// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/kernel.h"

namespace aliquot::guard {

/// The threads of this process that wait to launch on one device, first come, first served. Under the
/// lock of the device's meter, but for sleep().
class WaitingLine {
public:
    /// Nobody waits.
    [[nodiscard]] bool is_empty() const { return serving_ == next_; }
    std::uint32_t enter() { return next_++; }
    /// It is this thread's turn. Whoever is first and has not been here for long (its thread was thrown
    /// out of the wait by a signal handler) is passed over.
    bool is_first(std::uint32_t ticket, std::uint64_t now) {
        constexpr std::uint64_t kGone = 1'000'000'000;
        if (ticket != serving_ && ahead(ticket) && now - seen_ns_ > kGone) {
            gone_[serving_ % kMost] = true;
            while (serving_ != next_ && gone_[serving_ % kMost]) gone_[serving_++ % kMost] = false;
            seen_ns_ = now;
        }
        if (ahead(ticket)) return false;
        seen_ns_ = now;
        return true;
    }
    /// It goes, also before those that are ahead of it.
    void leave(std::uint32_t ticket, std::uint64_t now) {
        if (static_cast<std::int32_t>(ticket - serving_) >= 0) gone_[ticket % kMost] = true;
        while (serving_ != next_ && gone_[serving_ % kMost]) gone_[serving_++ % kMost] = false;
        seen_ns_ = now;
        served_.fetch_add(1, std::memory_order_relaxed);
    }
    /// After leave(), without the lock: whoever is next is to look.
    void wake() { kernel::wake(served_, 1 << 30, false); }
    [[nodiscard]] std::uint32_t served() const { return served_.load(std::memory_order_relaxed); }
    /// Without the lock: until somebody was served since `seen`, or for a moment.
    void sleep(std::uint32_t seen) { kernel::wait(served_, seen, 5'000'000, false); }
    void forget() {
        next_ = serving_ = 0;
        for (bool& gone : gone_) gone = false;
        seen_ns_ = 0;
    }

private:
    /// Somebody is before this ticket; one that was passed over is not.
    [[nodiscard]] bool ahead(std::uint32_t ticket) const {
        return static_cast<std::int32_t>(ticket - serving_) > 0;
    }
    /// Threads in it at once; with more, one that goes before its time makes another wait a second.
    static constexpr std::uint32_t kMost = 1024;
    bool gone_[kMost] = {};
    std::uint32_t next_ = 0;
    std::uint32_t serving_ = 0;
    std::uint64_t seen_ns_ = 0;  // when the first was here
    std::atomic<std::uint32_t> served_{0};
};

}  // namespace aliquot::guard
