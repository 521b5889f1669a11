// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "admission/review.h"
#include "metrics/histogram.h"

namespace aliquot::controller {

/// What the controller counts; thread-safe.
class Counters {
public:
    Counters();
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
    std::array<std::atomic<std::uint64_t>, kResults> reviews_{};
    metrics::Histogram took_;
    std::atomic<std::uint64_t> tending_failures_{0};
};

}  // namespace aliquot::controller
