// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/load_curve.h"

#include <cmath>

namespace aliquot::sim::trace {

std::int64_t nearest(std::int64_t part, std::int64_t whole) {
    const std::int64_t low = part / whole;
    const std::int64_t rest = part % whole;
    const bool up = rest > whole - rest || (rest == whole - rest && low % 2 != 0);
    return up ? low + 1 : low;
}

std::int64_t LoadCurve::bucket_of(std::int64_t arrived_milli) const {
    return capacity_ == 0 ? 0 : nearest(100 * arrived_milli, capacity_);
}

void LoadCurve::add(std::int64_t bucket, std::int64_t allocated_milli) {
    Bucket& one = buckets_[bucket];
    one.allocation += capacity_ == 0 ? 0 : nearest(10'000 * allocated_milli, capacity_);
    ++one.arrivals;
}

void LoadCurve::add_fragmentation(std::int64_t bucket, double fragmented_milli,
                                  std::int64_t free_milli) {
    Bucket& one = buckets_[bucket];
    ++one.samples;
    if (free_milli == 0) return;  // nothing idle, nothing fragmented
    one.fragmentation += std::llround(10'000 * fragmented_milli / static_cast<double>(free_milli));
}

LoadCurve::Point LoadCurve::point(std::int64_t load, const Bucket& bucket) {
    Point point{
        .load = load,
        .allocation = static_cast<double>(nearest(bucket.allocation, bucket.arrivals)) / 100};
    if (bucket.samples > 0) {
        point.fragmentation =
            static_cast<double>(nearest(bucket.fragmentation, bucket.samples)) / 100;
    }
    return point;
}

std::optional<LoadCurve::Point> LoadCurve::at(std::int64_t load) const {
    const auto found = buckets_.find(load);
    if (found != buckets_.end()) return point(load, found->second);
    Bucket around;
    for (const std::int64_t near : {load - 1, load + 1}) {
        const auto neighbour = buckets_.find(near);
        if (neighbour == buckets_.end()) continue;
        around.allocation += neighbour->second.allocation;
        around.arrivals += neighbour->second.arrivals;
        around.fragmentation += neighbour->second.fragmentation;
        around.samples += neighbour->second.samples;
    }
    if (around.arrivals == 0) return std::nullopt;
    return point(load, around);
}

std::vector<LoadCurve::Point> LoadCurve::points() const {
    std::vector<Point> points;
    points.reserve(buckets_.size());
    for (const auto& [load, bucket] : buckets_) points.push_back(point(load, bucket));
    return points;
}

}  // namespace aliquot::sim::trace
