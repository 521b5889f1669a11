// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "metrics/text.h"

namespace aliquot::metrics {

/// How often what was how large, as a histogram of Prometheus. Thread-safe.
class Histogram {
public:
    /// bounds   growing; they outlive it. One more bucket takes what is above.
    explicit Histogram(std::span<const double> bounds)
        : bounds_(bounds), buckets_(bounds.size() + 1) {}

    void add(double value);
    /// In seconds.
    void add(std::chrono::duration<double> took) { add(took.count()); }

    /// Rows of the family that was begun.
    /// labels   as append_label() makes them; may be empty
    void write(Text& text, std::string_view labels = "") const;

private:
    const std::span<const double> bounds_;
    std::vector<std::atomic<std::uint64_t>> buckets_;
    std::atomic<double> sum_{0};
};

}  // namespace aliquot::metrics
