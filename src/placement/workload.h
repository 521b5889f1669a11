// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "placement/request.h"

namespace aliquot::placement {

/// A kind of task the cluster expects, and how popular it is.
struct TaskType {
    Request request;        // memory_mib, selector, tolerations and anti_affinity are not looked at
    double popularity = 0;  // sum over a workload: 1
    /// Of several whole GPUs and too seldom to be typical: then `popularity` is 0 and this says how
    /// popular it is. Fragmentation does not look at it; Policy::kAliquot keeps nodes for it.
    double seldom = 0;
};

/// The most popular kinds of task that together make `share` of all (0.95: the paper's choice),
/// most popular first; popularities are scaled to a sum of 1. Of the rest, kinds of several whole GPUs
/// follow as TaskType::seldom, one for each number of GPUs and list of models, with the median CPU.
/// tasks    each with its weight (a count); equal shapes are added up
std::vector<TaskType> typical_types(std::span<const std::pair<Request, double>> tasks,
                                    double share = 0.95);

/// The workload as it arrives: counts per shape, halved every `half_life` arrivals. Deterministic.
class ArrivalHistory {
public:
    explicit ArrivalHistory(double half_life = 50'000) : half_life_(half_life) {}

    void arrived(const Request& request);
    [[nodiscard]] std::uint64_t arrivals() const { return arrivals_; }
    [[nodiscard]] std::vector<TaskType> types(double share = 0.95) const;

private:
    struct Less {
        bool operator()(const Request& a, const Request& b) const;
    };
    std::map<Request, double, Less> counts_;
    double half_life_;
    double unit_ = 1;  // what one arrival counts now; grows instead of decaying all others
    std::uint64_t arrivals_ = 0;
};

}  // namespace aliquot::placement
