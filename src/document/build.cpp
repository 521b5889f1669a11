// SPDX-License-Identifier: Apache-2.0
#include "document/build.h"

#include <cmath>

#include "base/number.h"

namespace aliquot::document {
namespace {

Node of(Node::Kind kind, std::string scalar = {}) {
    Node node;
    node.kind = kind;
    node.scalar = std::move(scalar);
    return node;
}

}  // namespace

Node make_string(std::string text) { return of(Node::Kind::kString, std::move(text)); }
Node make_integer(long long value) { return of(Node::Kind::kInteger, std::to_string(value)); }
Node make_bool(bool value) { return of(Node::Kind::kBool, value ? "true" : "false"); }
Node make_mapping() { return of(Node::Kind::kMapping); }
Node make_sequence() { return of(Node::Kind::kSequence); }

Node make_number(double value, int digits) {
    if (!std::isfinite(value)) return {};  // JSON has no word for it
    std::string text = decimal_text(value, digits);
    const bool whole = text.find('.') == std::string::npos;
    return of(whole ? Node::Kind::kInteger : Node::Kind::kFloat, std::move(text));
}

void append(Node& mapping, std::string key, Value value) {
    if (value.left_out) return;
    mapping.entries.emplace_back(make_string(std::move(key)), std::move(value.node));
}

Node make_mapping(std::initializer_list<Member> members) {
    Node mapping = make_mapping();
    for (const Member& one : members) append(mapping, std::string(one.key), std::move(one.value));
    return mapping;
}

}  // namespace aliquot::document
