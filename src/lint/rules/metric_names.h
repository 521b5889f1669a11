// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace aliquot::lint {

/// What the value of a DCGM field is, under its classic name.
enum class MetricUnit : std::uint8_t {
    kUnknown,
    kMebibytes,
    kPercent,  // 0 to 100
    kRatio,    // 0 to 1
    kMillijoules,
    kMegahertz,
    kOther,
};

struct Metric {
    std::string_view name;
    MetricUnit unit = MetricUnit::kUnknown;
    bool counter = false;
    bool by_default = true;  // an active line of dcgm-exporter's default counters
    bool additive = false;   // a share of it belongs to a pod: utilisation, memory, power
};

/// A classic DCGM field; nullptr: not in the table.
/// Source: the default counters of dcgm-exporter 4.5, active lines and commented ones.
const Metric* find_metric(std::string_view name);

/// A name that people write and no exporter has; `now` is what they mean.
struct WrongMetric {
    std::string_view name;
    std::string_view now;
    bool dcgm = false;  // both are names of the same exporter: the name alone is wrong
};
const WrongMetric* find_wrong_metric(std::string_view name);

/// A name of an exporter that is no longer made, and what dcgm-exporter has in its place.
const WrongMetric* find_old_metric(std::string_view name);

}  // namespace aliquot::lint
