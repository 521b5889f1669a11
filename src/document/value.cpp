// SPDX-License-Identifier: Apache-2.0
#include "document/value.h"

namespace aliquot::document {
namespace {

/// Long values would hide the message they stand in.
std::string shortened(std::string_view text) {
    constexpr std::size_t kMost = 60;
    std::string line;
    for (const char c : text) {
        if (line.size() >= kMost && (static_cast<unsigned char>(c) & 0xc0U) != 0x80U) {
            return line + "...";
        }
        line += c == '\n' ? ' ' : c;
    }
    return line;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const Value& name = entry->first;
        if (!name.is_mapping() && !name.is_sequence() && name.scalar == key) return &entry->second;
    }
    return nullptr;
}

std::string describe(const Value& node) {
    switch (node.kind) {
        case Value::Kind::kNull:
            return "nothing";
        case Value::Kind::kBool:
        case Value::Kind::kInteger:
        case Value::Kind::kFloat:
            return (node.kind == Value::Kind::kBool ? "" : "the number ") + shortened(node.scalar);
        case Value::Kind::kString:
            return "the text '" + shortened(node.scalar) + "'";
        case Value::Kind::kSequence:
            return node.items.empty() ? "an empty list" : "a list";
        case Value::Kind::kMapping:
            return node.entries.empty() ? "an empty mapping" : "a mapping";
    }
    return "";
}

}  // namespace aliquot::document
