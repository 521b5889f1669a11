// SPDX-License-Identifier: Apache-2.0
#include "document/build.h"

#include <cmath>

#include "base/number.h"

namespace aliquot::document {
namespace {

Value of(Value::Kind kind, std::string scalar = {}) {
    Value node;
    node.kind = kind;
    node.scalar = std::move(scalar);
    return node;
}

}  // namespace

Value make_string(std::string text) { return of(Value::Kind::kString, std::move(text)); }
Value make_integer(long long value) { return of(Value::Kind::kInteger, std::to_string(value)); }
Value make_bool(bool value) { return of(Value::Kind::kBool, value ? "true" : "false"); }
Value make_mapping() { return of(Value::Kind::kMapping); }
Value make_sequence() { return of(Value::Kind::kSequence); }

Value make_number(double value, int digits) {
    if (!std::isfinite(value)) return {};  // JSON has no word for it
    std::string text = decimal_text(value, digits);
    const bool whole = text.find('.') == std::string::npos;
    return of(whole ? Value::Kind::kInteger : Value::Kind::kFloat, std::move(text));
}

void append(Value& mapping, std::string key, Built value) {
    if (value.left_out) return;
    mapping.entries.emplace_back(make_string(std::move(key)), std::move(value.node));
}

Value make_mapping(std::initializer_list<Member> members) {
    Value mapping = make_mapping();
    for (const Member& one : members) append(mapping, std::string(one.key), std::move(one.value));
    return mapping;
}

}  // namespace aliquot::document
