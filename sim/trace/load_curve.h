// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace aliquot::sim::trace {

/// The nearest whole number to part / whole, halves to the even one; whole above 0, part from 0.
std::int64_t nearest(std::int64_t part, std::int64_t whole);

/// What was allocated at which arrived load, as the analysis of the published experiment keeps it:
/// every arrival falls into the bucket of its load in whole percent (halves to the even one), and a
/// bucket's value is the mean over its arrivals. Percentages are hundredths of a percent inside.
class LoadCurve {
public:
    struct Point {
        std::int64_t load = 0;                // percent of the capacity that had arrived
        double allocation = 0;                // percent of the capacity, two decimals
        std::optional<double> fragmentation;  // percent of the idle GPU, two decimals
    };

    explicit LoadCurve(std::int64_t capacity_milli) : capacity_(capacity_milli) {}

    [[nodiscard]] std::int64_t bucket_of(std::int64_t arrived_milli) const;

    /// One arrival is decided.
    void add(std::int64_t bucket, std::int64_t allocated_milli);
    /// Of the same arrival, where it is wanted.
    void add_fragmentation(std::int64_t bucket, double fragmented_milli, std::int64_t free_milli);

    /// The value at a load. Without an arrival there: the mean over the arrivals one percent below
    /// and above; without these too: nothing.
    [[nodiscard]] std::optional<Point> at(std::int64_t load) const;
    /// All loads that have arrivals, ascending.
    [[nodiscard]] std::vector<Point> points() const;

private:
    struct Bucket {
        std::int64_t allocation = 0;  // sum
        std::int64_t arrivals = 0;
        std::int64_t fragmentation = 0;  // sum
        std::int64_t samples = 0;
    };
    static Point point(std::int64_t load, const Bucket& bucket);

    std::int64_t capacity_;
    std::map<std::int64_t, Bucket> buckets_;
};

}  // namespace aliquot::sim::trace
