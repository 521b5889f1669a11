// SPDX-License-Identifier: Apache-2.0
#include "placement/large_tasks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "placement/type_table.h"

namespace aliquot::placement {
namespace {

constexpr int kRecentBits = 12;         // 2^-12 of a share is the newest change
constexpr std::int32_t kAll = 1 << 24;  // a share of 1
/// Refused shares and single GPUs, times this, fade what is kept: a cluster that refuses an eighth of
/// all small tasks keeps nothing.
constexpr double kFade = 8;
constexpr double kEndsFirst = 0.7;  // each more task on a node: so much less likely to get free
constexpr unsigned kMostLive = 40;  // 0.7^40 is below 10^-6
constexpr unsigned kPartBits = 20;  // of a part after the point

void note(std::int32_t& share, bool is) { share += ((is ? kAll : 0) - share) >> kRecentBits; }

std::array<std::int64_t, kMostLive> make_parts() {
    std::array<std::int64_t, kMostLive> parts{};
    double part = 1;
    for (std::int64_t& one : parts) {
        one = std::llround(part * (1 << kPartBits));
        part *= kEndsFirst;
    }
    return parts;
}

}  // namespace

void LargeTasks::changed(const Shape& shape, int sign) {
    note(recent_.ended, sign < 0);
    if (sign > 0 && shape.gpus == 1) note(recent_.refused, false);
}

void LargeTasks::refused(const Shape& shape) {
    if (shape.gpus == 1) note(recent_.refused, true);
}

double LargeTasks::price(const Shape& shape, double size, double running,
                         std::int64_t slots) const {
    if (!shape.is_whole() || shape.gpus < 2 || weights_.whole <= 0) return 0;
    const double turnover = std::min(1.0, 2.0 * recent_.ended / kAll);
    const double calm = std::max(0.0, 1.0 - kFade * recent_.refused / kAll);
    double rare = 1;
    if (slots > 0)
        rare =
            power_of(std::min(1.0, weights_.whole_reserve * running / static_cast<double>(slots)),
                     static_cast<int>(std::lround(weights_.whole_power * 4)));
    return weights_.whole * turnover * calm * rare * size;
}

double LargeTasks::drained(double slots, unsigned devices) const {
    return std::min(slots, static_cast<double>(kWholeGpu) * devices) * weights_.drain *
           (1 - kEndsFirst);
}

std::int64_t LargeTasks::of_next(std::int64_t drained, std::uint32_t live) {
    static const std::array<std::int64_t, kMostLive> parts = make_parts();
    return live < kMostLive ? drained * parts.at(live) >> kPartBits : 0;
}

}  // namespace aliquot::placement
