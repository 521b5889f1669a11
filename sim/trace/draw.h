// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/trace/order.h"
#include "sim/trace/task_list.h"

namespace aliquot::sim::trace {

/// SplitMix64: a counter and a mixing function, so a seed gives the same numbers everywhere.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class SplitMix64 {
public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next();
    /// Evenly one of 0..count-1; count above 0.
    std::uint64_t below(std::uint64_t count);
    /// Fisher and Yates: every order is as likely.
    void shuffle(std::span<std::uint32_t> values);

private:
    std::uint64_t state_;
};

inline constexpr std::size_t kMostArrivals = 20'000'000;

/// Our own draw of an experiment: tasks sorted by name, shuffled, then drawn again and again, evenly
/// and with replacement, until the next one would bring the arrived GPU demand above
/// inflate * capacity. Is the list itself above that, then random tasks are left out until it is not.
/// The ranks of the nodes are a random order. Not the draw of the published simulator.
///
/// errors   kInvalidInput: more than kMostArrivals arrivals
Result<Order> draw_order(const TaskList& tasks, std::size_t nodes, std::int64_t capacity_milli,
                         double inflate, std::uint64_t seed);

/// Every task once, in file order; ranks as draw_order() draws them.
Order whole_list(const TaskList& tasks, std::size_t nodes, std::uint64_t seed);

/// Arrivals by creation time; those of one second stay as they were.
void sort_by_creation(Order& order, const TaskList& tasks);

}  // namespace aliquot::sim::trace
