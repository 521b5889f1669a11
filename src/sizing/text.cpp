// SPDX-License-Identifier: Apache-2.0
#include "sizing/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

namespace aliquot::sizing {

std::string number_text(double value, int digits) {
    std::array<char, 64> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
    if (length <= 0 || static_cast<std::size_t>(length) >= buffer.size()) return "?";
    std::string text(buffer.data(), static_cast<std::size_t>(length));
    if (text.find('.') != std::string::npos) {
        while (text.back() == '0') text.pop_back();
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

std::string gib_text(double gib) { return number_text(gib) + " GiB"; }

std::string money_text(double usd) {
    std::array<char, 64> buffer{};
    const int digits = usd < 1 ? 4 : 2;
    const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, usd);
    if (length <= 0 || static_cast<std::size_t>(length) >= buffer.size()) return "?";
    return {buffer.data(), static_cast<std::size_t>(length)};
}

std::optional<double> number_of(const document::Node* node) {
    using Kind = document::Node::Kind;
    if (node == nullptr || (node->kind != Kind::kInteger && node->kind != Kind::kFloat)) {
        return std::nullopt;
    }
    double value = 0;
    const char* const end = node->scalar.data() + node->scalar.size();
    const auto [stop, problem] = std::from_chars(node->scalar.data(), end, value);
    if (problem != std::errc{} || stop != end || !std::isfinite(value) || value < 0) {
        return std::nullopt;
    }
    return value;
}

double number_at(const document::Node& mapping, std::string_view key, double otherwise) {
    return number_of(mapping.find(key)).value_or(otherwise);
}

std::string text_at(const document::Node& mapping, std::string_view key) {
    const document::Node* const value = mapping.find(key);
    return value != nullptr && value->is_string() ? value->scalar : std::string();
}

}  // namespace aliquot::sizing
