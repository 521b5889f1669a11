// SPDX-License-Identifier: Apache-2.0
#include "vision/classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::vision {
namespace {

constexpr std::size_t kMostLabels = 100'000;

bool are_probabilities(std::span<const float> output) {
    constexpr double kNear = 0.02;
    double sum = 0;
    for (const float value : output) {
        if (!(value >= 0) || value > 1 + kNear) return false;
        sum += value;
    }
    return std::abs(sum - 1) <= kNear;
}

/// The text between quotes at the front, with what follows left in `text`.
std::string take_quoted(std::string_view& text) {
    const char quote = text.front();
    text.remove_prefix(1);
    std::string read;
    while (!text.empty() && text.front() != quote) {
        if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
        read += text.front();
        text.remove_prefix(1);
    }
    if (!text.empty()) text.remove_prefix(1);
    return read;
}

std::vector<std::string> read_dictionary(std::string_view text) {
    std::vector<std::string> labels;
    while (!text.empty()) {
        const auto at = text.find_first_of("0123456789");
        if (at == std::string_view::npos) break;
        text.remove_prefix(at);
        const auto number = take_number<std::uint32_t>(text);
        const auto colon = text.find(':');  // the number itself may be quoted
        const auto quote = text.find_first_of("'\"", std::min(colon, text.size()));
        if (quote == std::string_view::npos) break;
        text.remove_prefix(quote);
        std::string name = take_quoted(text);
        if (!number || *number >= kMostLabels) continue;
        if (labels.size() <= *number) labels.resize(*number + 1);
        labels[*number] = std::move(name);
    }
    return labels;
}

}  // namespace

std::vector<ClassScore> read_classes(std::span<const float> output, std::size_t most) {
    std::vector<float> scores(output.begin(), output.end());
    if (!are_probabilities(output)) {
        float largest = -INFINITY;
        for (const float value : scores) {
            if (std::isfinite(value)) largest = std::max(largest, value);
        }
        double sum = 0;
        for (float& value : scores) {
            value = std::isfinite(value) ? std::exp(value - largest) : 0.0F;
            sum += value;
        }
        for (float& value : scores) value = sum > 0 ? static_cast<float>(value / sum) : 0.0F;
    }
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    most = std::min(most, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                          return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
                      });
    std::vector<ClassScore> best;
    for (std::size_t i = 0; i < most; ++i)
        best.push_back({.label = order[i], .score = scores[order[i]]});
    return best;
}

std::vector<std::string> read_labels(std::string_view text) {
    text = trim(text);
    if (text.starts_with('{')) return read_dictionary(text);
    std::vector<std::string> labels;
    for (const std::string_view line : lines_of(text)) {
        if (labels.size() == kMostLabels) break;
        labels.emplace_back(trim(line));
    }
    return labels;
}

}  // namespace aliquot::vision
