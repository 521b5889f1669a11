// SPDX-License-Identifier: Apache-2.0
#include "metrics/histogram.h"

#include <algorithm>

#include "base/number.h"

namespace aliquot::metrics {
namespace {

constexpr int kDigits = 9;

}  // namespace

void Histogram::add(double value) {
    const auto bound = std::ranges::lower_bound(bounds_, value);
    ++buckets_[static_cast<std::size_t>(bound - bounds_.begin())];
    sum_.fetch_add(std::max(0.0, value));
}

void Histogram::write(Text& text, std::string_view labels) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        count += buckets_[i].load();
        const std::string bound = i < bounds_.size() ? decimal_text(bounds_[i], kDigits) : "+Inf";
        text.row(labels, "_bucket").label("le", bound).is(count);
    }
    text.row(labels, "_sum").is(decimal_text(sum_.load(), kDigits));
    text.row(labels, "_count").is(count);
}

}  // namespace aliquot::metrics
