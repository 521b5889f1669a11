// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Reads and writes an nlohmann::json (ordered or not) that holds what somebody else wrote: what is missing
/// or of another type reads as nothing, and no function throws. Templates, so that this header does not pull in a
/// heavy one: who calls them includes <nlohmann/json.hpp>.
namespace aliquot {

/// A null value: no object, or no such member. Lives as long as `object`.
template <class Json>
const Json& member(const Json& object, const char* key) {
    static const Json kNone;
    const auto found = object.find(key);  // of what is no object: the end
    return found == object.end() ? kNone : *found;
}

/// Empty: no text is there.
template <class Json>
std::string text_at(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_string() ? value.template get<std::string>() : std::string();
}

/// 0: no whole number is there, or it does not fit `Number`.
template <class Number, class Json>
Number number_at(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (value.is_number_unsigned()) {
        const auto number = value.template get<std::uint64_t>();
        return std::in_range<Number>(number) ? static_cast<Number>(number) : Number{};
    }
    if (!value.is_number_integer()) return {};
    const auto number = value.template get<std::int64_t>();
    return std::in_range<Number>(number) ? static_cast<Number>(number) : Number{};
}

/// Empty: neither true nor false is there.
template <class Json>
std::optional<bool> flag_at(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_boolean() ? std::optional(value.template get<bool>()) : std::nullopt;
}

/// The members of an object that are texts, as labels are.
template <class Json>
std::map<std::string, std::string> texts_of(const Json& object) {
    std::map<std::string, std::string> texts;
    if (!object.is_object()) return texts;
    for (const auto& [key, value] : object.items()) {
        if (value.is_string()) texts[key] = value.template get<std::string>();
    }
    return texts;
}

// Of nlohmann::json and nlohmann::ordered_json, compiled once (json_value.cpp): the library's own are templates,
// two seconds of each compilation that calls both.

/// Discarded (`is_discarded()`): no JSON.
template <class Json>
Json parse_json(std::string_view text);

/// On one line, without blanks; with `indent` blanks a level on many. Bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string dumped(const Json& json, int indent = -1);

}  // namespace aliquot
