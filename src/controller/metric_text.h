// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::controller {

/// The two comment lines of a metric in Prometheus' text format.
std::string family(std::string_view name, std::string_view type, std::string_view help);
/// name   with its labels: "a_total{b=\"c\"}"
std::string row(std::string_view name, const std::string& value);
/// A metric with one value.
std::string single(std::string_view name, std::string_view type, std::string_view help,
                   const std::string& value);

/// How often something took how long. Thread-safe.
class Durations {
public:
    struct Bound {
        std::int64_t ns;
        std::string_view seconds;  // as it is written
    };
    /// bounds   ascending; they outlive it
    explicit Durations(std::span<const Bound> bounds)
        : bounds_(bounds), buckets_(bounds.size() + 1) {}

    void add(std::chrono::nanoseconds took);
    [[nodiscard]] std::string text(std::string_view name, std::string_view help) const;

private:
    const std::span<const Bound> bounds_;
    std::vector<std::atomic<std::uint64_t>> buckets_;  // the last: above all bounds
    std::atomic<std::uint64_t> sum_ns_{0};
};

}  // namespace aliquot::controller
