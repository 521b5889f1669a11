// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "gpu/meters.h"
#include "nvml/inquiry.h"
#include "nvml/mig_devices.h"

namespace aliquot::nvml {

/// The GPM metrics of one GPU and of its GPU instances (Hopper and newer). Each is an average
/// between two samples, so the last one of each is kept. Used by one thread.
class PerformanceMonitor {
public:
    /// Two samples that lie closer together give no metrics.
    static constexpr std::chrono::milliseconds kShortestSpan{101};

    /// Fills in the metrics of the GPU itself and of the instances that are in `reading`.
    /// mig         handles of the MIG devices; one of each instance is enough
    /// delivered   somebody has got what the last read() gave: averages begin anew. If not, they go
    ///             on from where they began.
    void read(Inquiry& inquiry, const std::vector<MigHandle>& mig, bool delivered,
              gpu::Reading& reading);

    /// The library was shut down: its samples are gone.
    void forget();

private:
    /// One series of samples.
    struct Series {
        nvmlGpmSample_t first = nullptr;  // from which averages go
        nvmlGpmSample_t second = nullptr;
        nvmlDevice_t device = nullptr;  // whose handle it was taken by
        std::chrono::steady_clock::time_point first_at;
        std::chrono::steady_clock::time_point second_at;
        bool has_first = false;
        bool has_second = false;
        bool refused = false;
        std::set<unsigned> refused_metrics;
    };

    bool supported(Inquiry& inquiry);
    bool take_sample(Inquiry& inquiry, Series& series, const MigHandle* mig);
    /// Returns what the metrics are averages over; 0: there are none.
    std::chrono::nanoseconds read_series(Inquiry& inquiry, Series& series, const MigHandle* mig,
                                         bool delivered, gpu::MetricValues& metrics);
    bool read_metrics(Inquiry& inquiry, Series& series, gpu::MetricValues& metrics);
    void drop(const Inquiry& inquiry, Series& series);

    std::optional<bool> supported_;
    Series whole_;
    std::map<unsigned, Series> by_instance_;
    std::unique_ptr<std::uint64_t[]> request_;  // an nvmlGpmMetricsGet_t with room behind it
};

}  // namespace aliquot::nvml
