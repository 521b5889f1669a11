// SPDX-License-Identifier: Apache-2.0
#include "telemetry/guard_check.h"

namespace aliquot::telemetry {
namespace {

/// Before so many, work that one of the two tells a sample later than the other makes the difference.
constexpr unsigned kFewSamples = 8;

}  // namespace

void GuardCheck::note(std::uint64_t guard_ns, std::uint64_t driver_ns, std::uint64_t span_ns) {
    guard_ns_ = kKept * guard_ns_ + static_cast<double>(guard_ns);
    driver_ns_ = kKept * driver_ns_ + static_cast<double>(driver_ns);
    span_ns_ = kKept * span_ns_ + static_cast<double>(span_ns);
    if (samples_ < kFewSamples) ++samples_;
}

bool GuardCheck::is_missing_work() const {
    return samples_ == kFewSamples && driver_ns_ > guard_ns_ * 5 / 4 + span_ns_ / 50;
}

}  // namespace aliquot::telemetry
