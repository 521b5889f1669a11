// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/histogram.h"
#include "scheduling/decision.h"

namespace aliquot::controller {

/// Why a gate was taken away: "placed", "waited_long", "fits_nowhere", "not_served".
std::string_view release_reason(scheduling::Decision::Kind kind);

/// What the role `placement` counts; thread-safe.
class PlacementCounters {
public:
    PlacementCounters();
    /// A pod was let go. took   from when we saw its gate
    void add_release(scheduling::Decision::Kind kind, std::chrono::nanoseconds took);
    void add_failure() { ++failures_; }
    void add_remade() { ++remade_; }
    void add_gang() { ++gangs_; }
    void add_undone_gang() { ++undone_gangs_; }
    void add_evictions(unsigned evicted, unsigned refused) {
        evicted_ += evicted;
        refused_evictions_ += refused;
    }
    struct GangGauges {
        std::uint64_t waiting = 0;
        std::uint64_t half_placed = 0;
        std::chrono::seconds oldest{0};
    };
    void set_gangs(const GangGauges& gauges);
    void set_gated(std::size_t pods, std::chrono::seconds oldest);
    void set_overbooked(std::uint64_t count) { overbooked_ = count; }

    [[nodiscard]] std::string text() const;

private:
    void write_gangs(metrics::Text& text) const;
    static constexpr std::size_t kKinds = 4;
    std::array<std::atomic<std::uint64_t>, kKinds> releases_{};
    metrics::Histogram took_;
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> remade_{0};
    std::atomic<std::uint64_t> overbooked_{0};
    std::atomic<std::uint64_t> evicted_{0};
    std::atomic<std::uint64_t> refused_evictions_{0};
    std::atomic<std::uint64_t> gangs_{0};
    std::atomic<std::uint64_t> undone_gangs_{0};
    std::atomic<std::uint64_t> waiting_gangs_{0};
    std::atomic<std::uint64_t> half_placed_gangs_{0};
    std::atomic<std::int64_t> oldest_gang_{0};
    std::atomic<std::uint64_t> gated_{0};
    std::atomic<std::int64_t> oldest_{0};
};

}  // namespace aliquot::controller
