// SPDX-License-Identifier: Apache-2.0
#include "telemetry/busy.h"

#include <algorithm>

namespace aliquot::telemetry {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;

std::uint64_t longest_span(std::chrono::nanoseconds elapsed) {
    return static_cast<std::uint64_t>(
        (std::max(elapsed, std::chrono::nanoseconds(0)) + kSamplingPeriod).count());
}

}  // namespace

BusyStretch BusySamples::take(std::span<const gpu::BusySample> samples,
                              std::chrono::nanoseconds elapsed, std::chrono::nanoseconds unread) {
    BusyStretch stretch;
    const bool first = newest_us_ == 0;  // the driver still has samples of the time before us
    for (const gpu::BusySample& sample : samples) {
        if (sample.at_us <= newest_us_) continue;
        if (!first) {
            const std::uint64_t span =
                std::min({(sample.at_us - newest_us_) * kNsPerUs, longest_span(elapsed),
                          longest_span(std::max(elapsed, unread)) - stretch.span_ns});
            stretch.span_ns += span;
            stretch.busy_ns += span / 100 * std::min(sample.percent, 100U);
        }
        newest_us_ = sample.at_us;
    }
    return stretch;
}

std::map<std::uint32_t, std::uint64_t> ProcessUses::take(std::span<const gpu::ProcessUse> uses,
                                                         std::chrono::nanoseconds elapsed) {
    std::map<std::uint32_t, std::uint64_t> busy;
    std::map<std::uint32_t, std::uint64_t> last;  // sample of the same process
    const std::uint64_t before = newest_us_;
    for (const gpu::ProcessUse& use : uses) {
        if (use.at_us <= before) continue;
        std::uint64_t& from = last.try_emplace(use.pid, before).first->second;
        if (from != 0 && use.at_us > from) {
            const std::uint64_t span =
                std::min((use.at_us - from) * kNsPerUs, longest_span(elapsed));
            busy[use.pid] += span / 100 * std::min(use.sm_percent, 100U);
        }
        from = std::max(from, use.at_us);
        newest_us_ = std::max(newest_us_, use.at_us);
    }
    return busy;
}

void ProcessUses::seen_until(std::uint64_t gpu_newest_us) {
    newest_us_ = std::max(newest_us_, gpu_newest_us);
}

}  // namespace aliquot::telemetry
