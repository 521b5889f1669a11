// SPDX-License-Identifier: Apache-2.0
#include "cel/value.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::cel {
namespace {

constexpr std::size_t kShownItems = 8;

std::optional<double> as_number(const Value& value) {
    if (const auto* const whole = value.as<std::int64_t>()) return static_cast<double>(*whole);
    if (const auto* const number = value.as<double>()) return *number;
    return std::nullopt;
}

bool equal_maps(const Map& left, const Map& right) {
    return left.entries.size() == right.entries.size() &&
           std::ranges::equal(left.entries, right.entries, [](const auto& a, const auto& b) {
               return a.first == b.first && a.second == b.second;
           });
}

}  // namespace

std::string_view Value::type_name() const {
    constexpr std::array<std::string_view, std::variant_size_v<State>> kNames{
        "null", "bool", "int", "double", "string", "Semver", "Quantity", "optional", "list", "map"};
    return kNames.at(state_.index());
}

std::optional<std::int64_t> Value::size() const {
    if (const auto* const text = as<std::string>()) {
        return std::ranges::count_if(
            *text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    }
    if (const auto* const list = as<List>()) return static_cast<std::int64_t>(list->size());
    if (const auto* const map = as<Map>()) return static_cast<std::int64_t>(map->entries.size());
    return std::nullopt;
}

std::string Value::text() const {
    if (is_null()) return "null";
    if (const auto* const flag = as<bool>()) return *flag ? "true" : "false";
    if (const auto* const whole = as<std::int64_t>()) return std::to_string(*whole);
    if (const auto* const number = as<double>()) return decimal_text(*number, 6);
    if (const auto* const text = as<std::string>()) return "'" + *text + "'";
    if (const auto* const version = as<Semver>()) return version->text();
    if (const auto* const amount = as<k8s::Quantity>()) return amount->canonical();
    if (const auto* const maybe = as<Maybe>()) {
        return maybe->value == nullptr ? "optional.none()" : maybe->value->text();
    }
    std::vector<std::string> parts;
    if (const auto* const list = as<List>()) {
        for (const Value& item : *list) {
            if (parts.size() == kShownItems) break;
            parts.push_back(item.text());
        }
        return "[" + join(parts) + (list->size() > kShownItems ? ", ...]" : "]");
    }
    for (const auto& [key, value] : as<Map>()->entries) {
        if (parts.size() == kShownItems) break;
        parts.push_back(key);
    }
    return "{" + join(parts) + (as<Map>()->entries.size() > kShownItems ? ", ...}" : "}");
}

bool operator==(const Value& left, const Value& right) {
    if (left.state_.index() != right.state_.index()) {
        const auto a = as_number(left);
        const auto b = as_number(right);
        return a && b && *a == *b;
    }
    if (const auto* const amount = left.as<k8s::Quantity>()) {
        return amount->nanos() == right.as<k8s::Quantity>()->nanos();
    }
    if (const auto* const maybe = left.as<Maybe>()) {
        const Maybe& other = *right.as<Maybe>();
        if (maybe->value == nullptr || other.value == nullptr) return maybe->value == other.value;
        return *maybe->value == *other.value;
    }
    if (const auto* const list = left.as<List>()) return *list == *right.as<List>();
    if (const auto* const map = left.as<Map>()) return equal_maps(*map, *right.as<Map>());
    if (const auto* const text = left.as<std::string>()) return *text == *right.as<std::string>();
    if (const auto* const version = left.as<Semver>()) return *version == *right.as<Semver>();
    if (const auto* const flag = left.as<bool>()) return *flag == *right.as<bool>();
    if (const auto* const whole = left.as<std::int64_t>()) {
        return *whole == *right.as<std::int64_t>();
    }
    if (const auto* const number = left.as<double>()) return *number == *right.as<double>();
    return true;  // null
}

std::optional<std::partial_ordering> compare(const Value& left, const Value& right) {
    const auto* const a = left.as<std::int64_t>();
    const auto* const b = right.as<std::int64_t>();
    if (a != nullptr && b != nullptr) return *a <=> *b;
    if (const auto x = as_number(left), y = as_number(right); x && y) return *x <=> *y;
    if (const auto* const text = left.as<std::string>(); text && right.as<std::string>()) {
        return text->compare(*right.as<std::string>()) <=> 0;
    }
    if (const auto* const flag = left.as<bool>(); flag && right.as<bool>()) {
        return static_cast<int>(*flag) <=> static_cast<int>(*right.as<bool>());
    }
    return std::nullopt;
}

}  // namespace aliquot::cel
