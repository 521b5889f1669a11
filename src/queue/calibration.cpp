// SPDX-License-Identifier: Apache-2.0
#include "queue/calibration.h"

#include <algorithm>
#include <cmath>

namespace aliquot::queue {
namespace {

// A wait that was foreseen to be shorter than this is not told apart from none.
constexpr double kLeast = 60'000;
constexpr double kFirstSpread = 2;  // of the upper bound, before anything is known

double ratio_of(Time foreseen, Time real) {
    return (static_cast<double>(real) + kLeast) / (static_cast<double>(foreseen) + kLeast);
}

Time scaled(Time foreseen, double ratio) {
    const double wait = (static_cast<double>(foreseen) + kLeast) * ratio - kLeast;
    return static_cast<Time>(std::clamp(wait, 0.0, static_cast<double>(kLatest)));
}

}  // namespace

std::size_t Calibration::size_of(std::int64_t milli) {
    return milli <= 1'000 ? 0 : milli < 8'000 ? 1 : 2;
}

std::size_t Calibration::length_of(Time foreseen) {
    std::size_t length = 0;
    for (Time edge = 60'000; length + 1 < kLengths && foreseen >= edge; edge *= 3) ++length;
    return length;
}

void Calibration::learn(std::int64_t milli, Time foreseen, Time real) {
    const double ratio = ratio_of(foreseen, real);
    const std::size_t size = size_of(milli);
    for (Group* group : {&groups_[size][length_of(foreseen)], &by_size_[size], &all_}) {
        if (group->ring.size() < kKept) {
            group->ring.push_back(ratio);
        } else {
            group->ring[group->oldest] = ratio;
            group->oldest = (group->oldest + 1) % kKept;
        }
        group->sorted.clear();
    }
}

void Calibration::judge(std::int64_t milli, bool held) {
    constexpr double kBroken = 0.1;  // of all promises
    double& stretch = stretch_[size_of(milli)];
    stretch = std::clamp(stretch + kStep * (held ? -kBroken : 1 - kBroken), -1.0, kMostStretch);
}

const std::vector<double>* Calibration::sorted(const Group& group) const {
    if (group.ring.size() < kFewest) return nullptr;
    if (group.sorted.empty()) {
        group.sorted = group.ring;
        std::sort(group.sorted.begin(), group.sorted.end());
    }
    return &group.sorted;
}

Time Calibration::late(std::int64_t milli, Time foreseen) const {
    const std::size_t size = size_of(milli);
    const std::vector<double>* ratios = sorted(groups_[size][length_of(foreseen)]);
    if (ratios == nullptr) ratios = sorted(by_size_[size]);
    if (ratios == nullptr) ratios = sorted(all_);
    const double late = std::exp(stretch_[size]);
    if (ratios == nullptr) return scaled(foreseen, kFirstSpread * late);
    return scaled(foreseen, (*ratios)[(ratios->size() - 1) * 9 / 10] * late);
}

}  // namespace aliquot::queue
