// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace aliquot::turns {

/// How late a thread of this machine runs after the time it was to run at, of late: by the keeper's own
/// sleeps, since what containers would say of theirs cannot be believed. Nanoseconds; not thread-safe.
class WakeTime {
public:
    /// So much of one sleep counts: one that the machine was suspended in says nothing of the next.
    static constexpr std::uint64_t kMost = 2'000'000;

    /// A sleep ended that much after its time.
    void note(std::uint64_t late_ns) {
        const std::uint64_t late = std::min(late_ns, kMost);
        // Up quickly and down slowly: what most sleeps stay below.
        if (late > usual_ns_)
            usual_ns_ += (late - usual_ns_) / 4;
        else
            usual_ns_ -= (usual_ns_ - late) / 16;
    }
    /// What most sleeps stay below.
    [[nodiscard]] std::uint64_t usual_ns() const { return usual_ns_; }

private:
    std::uint64_t usual_ns_ = 0;
};

}  // namespace aliquot::turns
