// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/report.h"
#include "cost/row.h"

namespace aliquot::cost {

struct Measured;  // of one workload

/// Adds up what smaller shares would have saved, by workload (a job's name, or a pod). Of each GPU it would have the largest
/// of: the measured peak of its memory and a quarter on top, but 1 GiB at least; its busiest hour and a quarter on top, but
/// 5 % at least. Told are those that need half of what they hold or less, were measured for an hour, and never ran out of
/// memory. Intervals and rows are seen one by one and in any order: of a large cluster they need not be in memory together.
class SavingSum {
public:
    /// names   what numbers of intervals and rows mean; outlives it, and may have grown by each call
    explicit SavingSum(const History& names);
    ~SavingSum();
    SavingSum(const SavingSum&) = delete;
    SavingSum& operator=(const SavingSum&) = delete;

    void see(const Interval& interval);
    /// What was paid meanwhile.
    void pay(const Row& row);
    /// The largest first.
    [[nodiscard]] std::vector<Saving> savings() const;

private:
    Measured& of(OwnerId owner);

    const History& names_;
    std::map<std::string, std::unique_ptr<Measured>> workloads_;
    std::vector<Measured*> by_owner_;  // the same, by OwnerId
};

}  // namespace aliquot::cost
