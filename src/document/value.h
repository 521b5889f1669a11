// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aliquot::document {

/// Where something stands in a text, both from 1; 0: nowhere (a default).
struct Mark {
    unsigned line = 0;
    unsigned column = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
};

/// One value of a YAML (or JSON) text, with its place. A mapping keeps its keys in order and keeps
/// duplicates, so that a strict reader can complain about them.
struct Value {
    enum class Kind : std::uint8_t { kNull, kBool, kInteger, kFloat, kString, kSequence, kMapping };

    struct Entry;  // `first` is the key, `second` the value

    Kind kind = Kind::kNull;  // YAML 1.2 core schema; a quoted scalar is always kString
    bool quoted = false;
    bool block = false;  // a literal (|) or folded (>) block scalar
    Mark mark;
    std::string scalar;  // the text as written, without quotes; of kNull too ("~", "null", "")
    std::vector<Value> items;    // of a sequence
    std::vector<Entry> entries;  // of a mapping

    /// The value of the last entry with this key; nullptr when there is none or this is no mapping.
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] bool is_mapping() const { return kind == Kind::kMapping; }
    [[nodiscard]] bool is_sequence() const { return kind == Kind::kSequence; }
    [[nodiscard]] bool is_string() const { return kind == Kind::kString; }
};

// Not std::pair: clang cannot complete a pair of a class that holds a vector of it.
struct Value::Entry {
    Entry(Value key, Value value) : first(std::move(key)), second(std::move(value)) {}
    Value first;
    Value second;
};

/// "a mapping", "a list", "the text 'x'", "the number 4": for messages "... found, ... expected".
std::string describe(const Value& node);

}  // namespace aliquot::document
