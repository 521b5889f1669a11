// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "os/clock.h"

namespace aliquot::kubelet {

/// One round of a loop: what is due now, and when the next thing will be. Not thread-safe.
class LoopTimer {
public:
    /// Starts a round that ends after `limit` at the latest.
    void begin(std::chrono::milliseconds limit) {
        now_ = std::chrono::steady_clock::now();
        next_ = now_ + limit;
    }
    [[nodiscard]] os::TimePoint now() const { return now_; }

    /// Whether `when` has come; if not, the round ends then.
    bool due(os::TimePoint when) {
        if (now_ >= when) return true;
        next_ = std::min(next_, when);
        return false;
    }

    /// From now until the end of the round, rounded up so that it is over when this has passed.
    [[nodiscard]] std::chrono::milliseconds left() const {
        const auto wait =
            std::chrono::ceil<std::chrono::milliseconds>(next_ - std::chrono::steady_clock::now());
        return std::max(wait, std::chrono::milliseconds(0));
    }

private:
    os::TimePoint now_{};
    os::TimePoint next_{};
};

}  // namespace aliquot::kubelet
