// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vision_worker/run_watch.h"

namespace aliquot::vision_worker {

/// A histogram as Prometheus wants it. Thread-safe.
class Histogram {
public:
    /// bounds   growing; one more bucket takes what is above
    explicit Histogram(std::span<const double> bounds);
    void add(double value);
    /// Rows of the family; `labels` is empty or "a=\"b\"".
    void write(std::string& out, std::string_view name, std::string_view labels) const;

private:
    const std::span<const double> bounds_;
    std::vector<std::atomic<std::uint64_t>> buckets_;
    std::atomic<double> sum_{0};
};

/// Where the time of a picture goes.
enum class Stage : std::uint8_t { kQueue, kDecode, kBatch, kRun, kRead };
inline constexpr std::size_t kStages = 5;
std::string_view name_of(Stage stage);

/// What the worker tells of itself. Thread-safe.
class Metrics {
public:
    Metrics();

    void answered(int status, std::chrono::duration<double> took);
    void stage(Stage which, std::chrono::duration<double> took);
    void batch(std::size_t pictures);

    std::atomic<std::uint64_t> waiting{
        0};  // pictures that are neither answered nor in a batch that runs
    std::atomic<std::uint64_t> running{0};
    std::atomic<std::uint64_t> batch_limit{0};
    std::atomic<std::uint64_t> out_of_memory{0};
    std::atomic<std::uint64_t> session_rebuilds{0};
    std::atomic<bool> ready{false};
    std::atomic<bool> stalled{false};  // the device has not answered in time
    RunWatch runs;

    struct Device {
        std::string provider;
        std::string name;
        std::string library;
        std::uint64_t memory_bytes = 0;  // of the share; 0: no GPU
        std::uint64_t arena_bytes = 0;
    };
    void set_device(Device device);
    [[nodiscard]] Device device() const;

    /// The text format of Prometheus, version 0.0.4.
    [[nodiscard]] std::string text() const;

private:
    Histogram duration_;
    std::deque<Histogram> stages_;
    Histogram batches_;
    mutable std::mutex mutex_;  // guards what follows
    std::map<int, std::uint64_t> answers_;
    Device device_;
};

}  // namespace aliquot::vision_worker
