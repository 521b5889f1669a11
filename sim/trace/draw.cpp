// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/draw.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace aliquot::sim::trace {
namespace {

// Two streams of one seed, so that the ranks do not depend on the tasks.
constexpr std::uint64_t kRankStream = 0x6E6F'6465'0000'0001;
constexpr std::uint64_t kTaskStream = 0x7461'736B'0000'0002;

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0U);
    return values;
}

std::vector<std::uint32_t> draw_ranks(std::size_t nodes, std::uint64_t seed) {
    auto ranks = numbers(nodes);
    SplitMix64 random(seed ^ kRankStream);
    random.shuffle(ranks);
    return ranks;
}

/// Leaves out random arrivals until at most `most` milli are left.
void thin_out(std::vector<std::uint32_t>& arrivals, const TaskList& tasks, std::int64_t demand,
              double most, SplitMix64& random) {
    auto victims = numbers(arrivals.size());
    random.shuffle(victims);
    std::vector<bool> out(arrivals.size());
    for (const std::uint32_t victim : victims) {
        if (static_cast<double>(demand) <= most) break;
        out[victim] = true;
        demand -= tasks.tasks[arrivals[victim]].gpu_milli();
    }
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        if (!out[i]) kept.push_back(arrivals[i]);
    }
    arrivals = std::move(kept);
}

}  // namespace

std::uint64_t SplitMix64::next() {
    state_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EB;
    return mixed ^ (mixed >> 31U);
}

std::uint64_t SplitMix64::below(std::uint64_t count) {
    // Numbers below the remainder of 2^64 / count would make small results likelier: draw again.
    const std::uint64_t least = (0 - count) % count;
    std::uint64_t value = next();
    while (value < least) value = next();
    return value % count;
}

void SplitMix64::shuffle(std::span<std::uint32_t> values) {
    for (std::size_t left = values.size(); left > 1; --left) {
        std::swap(values[left - 1], values[below(left)]);
    }
}

Result<Order> draw_order(const TaskList& tasks, std::size_t nodes, std::int64_t capacity_milli,
                         double inflate, std::uint64_t seed) {
    Order order{.ranks = draw_ranks(nodes, seed), .arrivals = numbers(tasks.tasks.size())};
    std::sort(order.arrivals.begin(), order.arrivals.end(), [&](std::uint32_t a, std::uint32_t b) {
        return tasks.tasks[a].name < tasks.tasks[b].name;
    });
    SplitMix64 random(seed ^ kTaskStream);
    random.shuffle(order.arrivals);
    // Products of decimals: a tiny part more, so that 1.3 * 1000 is not below 1300.
    const double most = static_cast<double>(capacity_milli) * inflate * (1 + 1e-12);
    std::int64_t demand = tasks.gpu_milli();
    if (demand == 0) return order;  // nothing could ever fill the cluster
    if (static_cast<double>(demand) > most) {
        thin_out(order.arrivals, tasks, demand, most, random);
        return order;
    }
    while (true) {
        const auto row = static_cast<std::uint32_t>(random.below(tasks.tasks.size()));
        demand += tasks.tasks[row].gpu_milli();
        if (static_cast<double>(demand) > most) return order;
        if (order.arrivals.size() == kMostArrivals) {
            return Error{ErrorCode::kInvalidInput,
                         "more than " + std::to_string(kMostArrivals) +
                             " arrivals would be drawn: choose a smaller --inflate, or a task list "
                             "that asks for more GPU"};
        }
        order.arrivals.push_back(row);
    }
}

Order whole_list(const TaskList& tasks, std::size_t nodes, std::uint64_t seed) {
    return {.ranks = draw_ranks(nodes, seed), .arrivals = numbers(tasks.tasks.size())};
}

void sort_by_creation(Order& order, const TaskList& tasks) {
    std::stable_sort(order.arrivals.begin(), order.arrivals.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                         return tasks.tasks[a].creation < tasks.tasks[b].creation;
                     });
}

}  // namespace aliquot::sim::trace
