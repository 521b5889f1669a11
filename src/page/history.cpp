// SPDX-License-Identifier: Apache-2.0
#include "page/history.h"

#include <algorithm>

#include "telemetry/split.h"
#include "top/sums.h"

namespace aliquot::page {
namespace {

constexpr std::uint64_t kAll = 100;

std::uint8_t percent_of(std::uint64_t part, std::uint64_t whole) {
    return static_cast<std::uint8_t>(std::min(kAll, telemetry::scaled(part, kAll, whole)));
}

}  // namespace

std::string gpu_row_key(const std::string& node, unsigned index) {
    return node + "/" + std::to_string(index);
}

void History::skip(std::uint64_t ticks) { tick_ += ticks; }

void History::add(const std::string& key, Point point) {
    const auto found = series_.find(key);
    if (found == series_.end() && series_.size() >= kMostSeries) return;
    Series& series = found == series_.end() ? series_[key] : found->second;
    const std::uint64_t missed = series.points.empty() ? 0 : tick_ - series.tick - 1;
    if (missed >= kMostPoints) series.points.clear();
    if (!series.points.empty()) series.points.insert(series.points.end(), missed, Point{});
    series.points.push_back(point);
    series.tick = tick_;
    if (series.points.size() > kMostPoints) {
        const auto extra = static_cast<std::ptrdiff_t>(series.points.size() - kMostPoints);
        series.points.erase(series.points.begin(), series.points.begin() + extra);
    }
}

void History::note(const top::ClusterSnapshot& cluster, Moment at) {
    const std::scoped_lock lock(mutex_);
    if (last_ && at < *last_) last_ = at;  // the clock was set back
    if (last_ && at - *last_ < kStep) return;
    const auto steps = last_ ? static_cast<std::uint64_t>((at - *last_) / kStep) : 1;
    skip(std::min<std::uint64_t>(steps, kMostPoints + 1));
    last_ = at;
    for (const top::Agent& agent : cluster.agents) {
        if (!agent.snapshot || !agent.problem.empty()) continue;
        for (const telemetry::Device& device : agent.snapshot->devices) {
            Point point;
            if (const auto busy = top::busy_of(device))
                point.busy = percent_of(*busy, telemetry::kMillion);
            const auto total = top::memory_total_of(device);
            if (total && device.total.memory_bytes) {
                point.memory = percent_of(*device.total.memory_bytes, *total);
            }
            add(gpu_row_key(agent.snapshot->node, device.gpu.index), point);
        }
    }
    const top::Sums sums = top::sums_of(cluster);
    Point all;
    if (const auto busy = sums.utilization_ppm()) all.busy = percent_of(*busy, telemetry::kMillion);
    if (sums.memory_used_bytes && sums.memory_total_bytes) {
        all.memory = percent_of(*sums.memory_used_bytes, *sums.memory_total_bytes);
    }
    add("", all);
    std::erase_if(series_, [&](const auto& one) { return tick_ - one.second.tick >= kMostPoints; });
}

std::string History::json(const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = series_.find(key);
    if (found == series_.end() || !last_) {
        return R"({"step":15,"end":0,"busy":[],"memory":[]})";
    }
    std::string busy;
    std::string memory;
    const auto append = [](std::string& out, std::uint8_t value) {
        if (!out.empty()) out += ',';
        out += value == kUnknown ? "null" : std::to_string(value);
    };
    for (const Point& point : found->second.points) {
        append(busy, point.busy);
        append(memory, point.memory);
    }
    const Moment end = *last_ - kStep * static_cast<std::int64_t>(tick_ - found->second.tick);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(end.time_since_epoch());
    return "{\"step\":" + std::to_string(kStep.count()) + ",\"end\":" + std::to_string(ms.count()) +
           ",\"busy\":[" + busy + "],\"memory\":[" + memory + "]}";
}

}  // namespace aliquot::page
