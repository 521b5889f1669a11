// SPDX-License-Identifier: Apache-2.0
#include "sizing/text.h"

#include "base/number.h"

namespace aliquot::sizing {

std::string gib_text(double gib) { return decimal_text(gib) + " GiB"; }

std::string token_count(const std::string& text) {
    constexpr double kThousand = 1024;
    if (text.size() < 2 || (text.back() | 0x20) != 'k') return text;
    const auto number = parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
    return number ? decimal_text(*number * kThousand, 0) : text;
}

std::string money_text(double usd) { return fixed_text(usd, usd < 1 ? 4 : 2); }

std::optional<double> number_of(const document::Value* node) {
    using Kind = document::Value::Kind;
    if (node == nullptr || (node->kind != Kind::kInteger && node->kind != Kind::kFloat)) {
        return std::nullopt;
    }
    const auto value = parse_number<double>(node->scalar);
    return value && *value >= 0 ? value : std::nullopt;
}

double number_at(const document::Value& mapping, std::string_view key, double otherwise) {
    return number_of(mapping.find(key)).value_or(otherwise);
}

std::string text_at(const document::Value& mapping, std::string_view key) {
    const document::Value* const value = mapping.find(key);
    return value != nullptr && value->is_string() ? value->scalar : std::string();
}

}  // namespace aliquot::sizing
