// SPDX-License-Identifier: Apache-2.0
#include "queue/usage.h"

#include <algorithm>
#include <bit>

namespace aliquot::queue {
namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kMostPower = 200;  // half-lives since the origin before it moves

}  // namespace

double power_of_two(double x) {
    x = std::clamp(x, -1000.0, 1000.0);
    auto whole = static_cast<std::int64_t>(x);
    if (static_cast<double>(whole) > x) --whole;
    const double part = (x - static_cast<double>(whole)) * kLn2;
    double term = 1;
    double sum = 1;
    for (int i = 1; i <= 14; ++i) {  // 0.7^14 / 14! is below the last bit
        term *= part / i;
        sum += term;
    }
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(whole + 1023) << 52U);
}

double Usage::weight(Time at) const {
    return power_of_two(static_cast<double>(at - origin_) / static_cast<double>(half_life_));
}

std::uint32_t Usage::add_account() {
    accounts_.push_back(0);
    return static_cast<std::uint32_t>(accounts_.size() - 1);
}

double Usage::worth(std::int64_t milli, Time since, Time until) const {
    if (until <= since) return 0;
    const double gpus = static_cast<double>(milli) / 1000;
    const double span = static_cast<double>(until - since);
    // What is short beside the half-life decays by nothing that counts.
    if (span * 64 < static_cast<double>(half_life_))
        return gpus * span * weight(since + (until - since) / 2);
    return gpus * (weight(until) - weight(since)) * (static_cast<double>(half_life_) / kLn2);
}

void Usage::charge(std::uint32_t account, double worth) {
    accounts_[account] = std::max(0.0, accounts_[account] + worth);
}

double Usage::decayed(std::uint32_t account, Time now) const {
    return accounts_[account] / weight(now) / 1000;
}

double Usage::settle(Time now) {
    const double power = static_cast<double>(now - origin_) / static_cast<double>(half_life_);
    if (power < kMostPower) return 1;
    const double factor = power_of_two(-std::min(power, 1000.0));
    for (double& account : accounts_) account *= factor;
    origin_ = now;
    return factor;
}

}  // namespace aliquot::queue
