// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"

#include <cmath>

#include "base/json_text.h"
#include "base/number.h"

namespace aliquot::document {
namespace {

void write(std::string& out, const Node& node, unsigned depth) {
    const std::string inner(2 * (depth + 1), ' ');
    const std::string outer(2 * depth, ' ');
    const char* separator = "\n";
    switch (node.kind) {
        case Node::Kind::kMapping:
            if (node.entries.empty()) {
                out += "{}";
                return;
            }
            out += '{';
            for (const auto& [key, value] : node.entries) {
                out += separator + inner + json_quoted(key.scalar) + ": ";
                write(out, value, depth + 1);
                separator = ",\n";
            }
            out += '\n' + outer + '}';
            return;
        case Node::Kind::kSequence:
            if (node.items.empty()) {
                out += "[]";
                return;
            }
            out += '[';
            for (const Node& item : node.items) {
                out += separator + inner;
                write(out, item, depth + 1);
                separator = ",\n";
            }
            out += '\n' + outer + ']';
            return;
        case Node::Kind::kNull:
            out += "null";
            return;
        case Node::Kind::kBool:
        case Node::Kind::kInteger:
        case Node::Kind::kFloat:
            out += node.scalar;
            return;
        case Node::Kind::kString:
            out += json_quoted(node.scalar);
            return;
    }
}

void write_line(const Node& node, std::string& out) {
    switch (node.kind) {
        case Node::Kind::kMapping: {
            out += '{';
            bool first = true;
            for (const Node::Entry& entry : node.entries) {
                if (!first) out += ',';
                first = false;
                out += json_quoted(entry.first.scalar) + ":";
                write_line(entry.second, out);
            }
            out += '}';
            return;
        }
        case Node::Kind::kSequence: {
            out += '[';
            bool first = true;
            for (const Node& item : node.items) {
                if (!first) out += ',';
                first = false;
                write_line(item, out);
            }
            out += ']';
            return;
        }
        case Node::Kind::kNull:
            out += "null";
            return;
        case Node::Kind::kBool:
        case Node::Kind::kInteger:
        case Node::Kind::kFloat: {
            // YAML knows more spellings than JSON.
            const bool plain = node.scalar == "true" || node.scalar == "false" ||
                               (parse_number<std::int64_t>(node.scalar).has_value() &&
                                (node.scalar == "0" || !node.scalar.starts_with('0')));
            out += plain ? node.scalar : json_quoted(node.scalar);
            return;
        }
        case Node::Kind::kString:
            out += json_quoted(node.scalar);
    }
}

}  // namespace

std::string to_json_line(const Node& node) {
    std::string out;
    write_line(node, out);
    return out;
}

std::string to_json(const Node& node) {
    std::string out;
    write(out, node, 0);
    return out;
}

Node make_integer(long long value) {
    Node node;
    node.kind = Node::Kind::kInteger;
    node.scalar = std::to_string(value);
    return node;
}

Node make_number(double value, int digits) {
    Node node;
    if (!std::isfinite(value)) return node;  // JSON has no word for it
    std::string text = decimal_text(value, digits);
    node.kind = text.find('.') == std::string::npos ? Node::Kind::kInteger : Node::Kind::kFloat;
    node.scalar = std::move(text);
    return node;
}

Node make_bool(bool value) {
    Node node;
    node.kind = Node::Kind::kBool;
    node.scalar = value ? "true" : "false";
    return node;
}

}  // namespace aliquot::document
