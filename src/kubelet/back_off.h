// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace aliquot::kubelet {

/// Waits that double from `first` to `limit`: 1, 2, 4 ... 30 s.
class BackOff {
public:
    BackOff(std::chrono::milliseconds first, std::chrono::milliseconds limit)
        : first_(first), limit_(limit), next_(first) {}

    std::chrono::milliseconds next() {
        const auto wait = next_;
        next_ = std::min(next_ * 2, limit_);
        return wait;
    }
    void reset() { next_ = first_; }

private:
    std::chrono::milliseconds first_;
    std::chrono::milliseconds limit_;
    std::chrono::milliseconds next_;
};

}  // namespace aliquot::kubelet
