// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "admission/review.h"

namespace aliquot::controller {

/// What the controller counts; thread-safe.
class Counters {
public:
    void add_review(admission::ReviewResult result, std::chrono::nanoseconds took);
    void add_tending_failure() { ++tending_failures_; }

    /// What is not counted but is.
    struct Gauges {
        bool leads = false;
        std::size_t gpu_nodes = 0;
        std::chrono::system_clock::time_point certificate_until;  // the epoch: none yet
        std::chrono::system_clock::time_point authority_until;
    };
    /// Prometheus text.
    [[nodiscard]] std::string text(const Gauges& gauges) const;

private:
    static constexpr std::size_t kResults = 5;
    static constexpr std::size_t kBuckets = 10;  // and one for what is above
    std::array<std::atomic<std::uint64_t>, kResults> reviews_{};
    std::array<std::atomic<std::uint64_t>, kBuckets + 1> buckets_{};
    std::atomic<std::uint64_t> sum_ns_{0};
    std::atomic<std::uint64_t> tending_failures_{0};
};

}  // namespace aliquot::controller
