// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

/// Answers written down as they will look:
///     make_mapping({{"gpu", gpu.uuid.text}, {"parts", make_sequence(gpu.parts, part_node)}})
namespace aliquot::document {

Value make_string(std::string text);
Value make_integer(long long value);
/// At most `digits` behind the point and no zeros at its end; null: not finite.
Value make_number(double value, int digits = 4);
Value make_bool(bool value);
Value make_mapping();
Value make_sequence();

/// What stands behind a key: made from text, a bool, a number, another Node, or a list of them.
class Built {
public:
    Built(Value made) : node(std::move(made)) {}                            // NOLINT(*-explicit-*)
    Built(std::string text) : node(make_string(std::move(text))) {}         // NOLINT(*-explicit-*)
    Built(std::string_view text) : node(make_string(std::string(text))) {}  // NOLINT(*-explicit-*)
    Built(const char* text) : node(make_string(text)) {}                    // NOLINT(*-explicit-*)
    Built(bool value) : node(make_bool(value)) {}                           // NOLINT(*-explicit-*)
    template <std::integral Number>
    Built(Number value)  // NOLINT(*-explicit-*)
        : node(make_integer(static_cast<long long>(value))) {}
    Built(double value) : node(make_number(value)) {}  // NOLINT(*-explicit-*)
    template <class Item>
    Built(const std::vector<Item>& items) : node(make_sequence()) {  // NOLINT(*-explicit-*)
        for (const Item& item : items) node.items.push_back(Built(item).node);
    }

    Value node;
    bool left_out = false;
};

/// null unless `there`.
inline Built or_null(bool there, Built value) { return there ? std::move(value) : Built(Value{}); }
/// No entry at all unless `there`.
inline Built only_if(bool there, Built value) {
    value.left_out = !there;
    return value;
}

struct Member {
    std::string_view key;
    mutable Built value;  // moved out of the list that it stands in
};
Value make_mapping(std::initializer_list<Member> members);
/// What `make` makes of each.
template <class Range, class Make>
Value make_sequence(const Range& range, const Make& make) {
    Value list = make_sequence();
    for (const auto& one : range) list.items.push_back(Built(make(one)).node);
    return list;
}

/// Adds an entry to a mapping.
void append(Value& mapping, std::string key, Built value);

}  // namespace aliquot::document
