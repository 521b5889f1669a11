// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "queue/queue.h"

namespace aliquot::queue {

/// 2^x for -1000 <= x <= 1000 by additions and multiplications alone: the same on every machine.
double power_of_two(double x);

/// GPU time that accounts used, where what was used a half-life ago counts half. A run is charged in full, as
/// predicted, when it starts (so that a burst of starts counts at once) and corrected when it ends. All accounts
/// decay alike, so their order changes only where one is charged: nothing is computed while time passes.
class Usage {
public:
    explicit Usage(Time half_life) : half_life_(half_life) {}

    std::uint32_t add_account();
    [[nodiscard]] std::size_t accounts() const { return accounts_.size(); }
    /// What a run of `milli` GPU compute from `since` to `until` counts; compare and charge() with it.
    [[nodiscard]] double worth(std::int64_t milli, Time since, Time until) const;
    void charge(std::uint32_t account, double worth);
    /// To order accounts by. Not in a unit of its own: it grows with time, for all alike.
    [[nodiscard]] double of(std::uint32_t account) const { return accounts_[account]; }
    /// GPU seconds that the account used, as they count at `now`.
    [[nodiscard]] double decayed(std::uint32_t account, Time now) const;
    /// Moves the origin when numbers grow large; the factor that every worth() kept outside has to be multiplied by.
    double settle(Time now);

private:
    [[nodiscard]] double weight(Time at) const;

    Time half_life_;
    Time origin_ = 0;
    std::vector<double> accounts_;
};

}  // namespace aliquot::queue
