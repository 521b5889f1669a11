// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

namespace {

void append_number(std::string& out, double number) {
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
    out += std::isfinite(number) ? text : std::string_view("null");
}

}  // namespace

void append_json(std::string& out, const Value& value) {
    if (value.is_object()) {
        char before = '{';
        for (const Member& member : value.members()) {
            out += before;
            append_json_quoted(out, member.name);
            out += ':';
            append_json(out, member.value);
            before = ',';
        }
        out += before == '{' ? "{}" : "}";
    } else if (value.is_array()) {
        char before = '[';
        for (const Value& item : value.items()) {
            out += before;
            append_json(out, item);
            before = ',';
        }
        out += before == '[' ? "[]" : "]";
    } else if (value.is_string()) {
        append_json_quoted(out, value.text());
    } else if (value.is_integer()) {
        out += std::to_string(value.integer());
    } else if (value.is_number()) {
        append_number(out, value.number());
    } else {
        out += value.is_null() ? "null" : value.boolean() ? "true" : "false";
    }
}

std::string to_json(const Value& value) {
    std::string out;
    append_json(out, value);
    return out;
}

}  // namespace aliquot::sim::apiserver
