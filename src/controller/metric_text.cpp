// SPDX-License-Identifier: Apache-2.0
#include "controller/metric_text.h"

#include <algorithm>

#include "base/units.h"

namespace aliquot::controller {

std::string family(std::string_view name, std::string_view type, std::string_view help) {
    return "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " +
           std::string(name) + " " + std::string(type) + "\n";
}

std::string row(std::string_view name, const std::string& value) {
    return std::string(name) + " " + value + "\n";
}

std::string single(std::string_view name, std::string_view type, std::string_view help,
                   const std::string& value) {
    return family(name, type, help) + row(name, value);
}

void Durations::add(std::chrono::nanoseconds took) {
    const auto bound = std::ranges::lower_bound(bounds_, took.count(), {}, &Bound::ns);
    ++buckets_[static_cast<std::size_t>(bound - bounds_.begin())];
    sum_ns_ += static_cast<std::uint64_t>(std::max<std::int64_t>(0, took.count()));
}

std::string Durations::text(std::string_view name, std::string_view help) const {
    std::string out = family(name, "histogram", help);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        count += buckets_[i].load();
        const std::string_view bound = i == bounds_.size() ? "+Inf" : bounds_[i].seconds;
        out += row(std::string(name) + "_bucket{le=\"" + std::string(bound) + "\"}",
                   std::to_string(count));
    }
    out += row(std::string(name) + "_sum",
               std::to_string(static_cast<double>(sum_ns_.load()) / kNsPerSecond));
    return out + row(std::string(name) + "_count", std::to_string(count));
}

}  // namespace aliquot::controller
