// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "metrics/histogram.h"
#include "vision_worker/run_watch.h"

namespace aliquot::vision_worker {

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
    void write_device(metrics::Text& text) const;

    metrics::Histogram duration_;
    std::deque<metrics::Histogram> stages_;
    metrics::Histogram batches_;
    mutable std::mutex mutex_;  // guards what follows
    std::map<int, std::uint64_t> answers_;
    Device device_;
};

}  // namespace aliquot::vision_worker
