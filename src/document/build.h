// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/node.h"

/// Answers written down as they will look:
///     make_mapping({{"gpu", gpu.uuid.text}, {"parts", make_sequence(gpu.parts, part_node)}})
namespace aliquot::document {

Node make_string(std::string text);
Node make_integer(long long value);
/// At most `digits` behind the point and no zeros at its end; null: not finite.
Node make_number(double value, int digits = 4);
Node make_bool(bool value);
Node make_mapping();
Node make_sequence();

/// What stands behind a key: made from text, a bool, a number, another Node, or a list of them.
class Value {
public:
    Value(Node made) : node(std::move(made)) {}                             // NOLINT(*-explicit-*)
    Value(std::string text) : node(make_string(std::move(text))) {}         // NOLINT(*-explicit-*)
    Value(std::string_view text) : node(make_string(std::string(text))) {}  // NOLINT(*-explicit-*)
    Value(const char* text) : node(make_string(text)) {}                    // NOLINT(*-explicit-*)
    Value(bool value) : node(make_bool(value)) {}                           // NOLINT(*-explicit-*)
    template <std::integral Number>
    Value(Number value)
        : node(make_integer(static_cast<long long>(value))) {}  // NOLINT(*-explicit-*)
    Value(double value) : node(make_number(value)) {}           // NOLINT(*-explicit-*)
    template <class Item>
    Value(const std::vector<Item>& items) : node(make_sequence()) {  // NOLINT(*-explicit-*)
        for (const Item& item : items) node.items.push_back(Value(item).node);
    }

    Node node;
    bool left_out = false;
};

/// null unless `there`.
inline Value or_null(bool there, Value value) { return there ? std::move(value) : Value(Node{}); }
/// No entry at all unless `there`.
inline Value only_if(bool there, Value value) {
    value.left_out = !there;
    return value;
}

struct Member {
    std::string_view key;
    mutable Value value;  // moved out of the list that it stands in
};
Node make_mapping(std::initializer_list<Member> members);
/// What `make` makes of each.
template <class Range, class Make>
Node make_sequence(const Range& range, const Make& make) {
    Node list = make_sequence();
    for (const auto& one : range) list.items.push_back(Value(make(one)).node);
    return list;
}

/// Adds an entry to a mapping.
void append(Node& mapping, std::string key, Value value);

}  // namespace aliquot::document
