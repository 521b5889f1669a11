// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "page/feed.h"
#include "top/cluster_snapshot.h"

namespace aliquot::page {

/// How busy all GPUs together and each of them were, and how full, over the last four hours: two bytes for
/// every kStep and GPU. Thread-safe.
class History {
public:
    static constexpr std::chrono::seconds kStep{15};
    static constexpr std::size_t kMostPoints = 960;
    static constexpr std::size_t kMostSeries = 4'096;  // further GPUs are in the sum only

    /// Takes in how it is now, unless less than kStep has passed since the last time.
    void note(const top::ClusterSnapshot& cluster, Moment at);

    /// {"step" (seconds),"end" (ms since 1970),"busy":[percent or null],"memory":[...]}, oldest first. key: as in
    /// the table of GPUs; empty: all of them. Lists are empty where
    /// nothing is known.
    [[nodiscard]] std::string json(const std::string& key) const;

private:
    static constexpr std::uint8_t kUnknown = 255;
    struct Point {
        std::uint8_t busy = kUnknown;
        std::uint8_t memory = kUnknown;
        [[nodiscard]] bool known() const { return busy != kUnknown || memory != kUnknown; }
    };
    struct Series {
        std::vector<Point> points;  // at most kMostPoints; the last one is of tick_
        std::uint64_t tick = 0;     // of the last point
    };
    void add(const std::string& key, Point point);
    void skip(std::uint64_t ticks);

    mutable std::mutex mutex_;
    std::map<std::string, Series> series_;
    std::uint64_t tick_ = 0;
    std::optional<Moment> last_;
};

/// The name of a GPU in tables and in the history: "node/0".
std::string gpu_row_key(const std::string& node, unsigned index);

}  // namespace aliquot::page
