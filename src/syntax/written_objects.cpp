// SPDX-License-Identifier: Apache-2.0
#include "syntax/written_objects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "document/path.h"

namespace aliquot::syntax {

bool is_manifest(const Value& node) {
    if (!node.is_mapping()) return false;
    const std::string kind = text_at(node, "kind");
    const std::string version = text_at(node, "apiVersion");
    if (kind.empty() || kind[0] < 'A' || kind[0] > 'Z' || version.empty()) return false;
    const Value* metadata = node.find("metadata");
    return metadata != nullptr && metadata->is_mapping() && version.find(' ') == std::string::npos;
}

std::string camel_case(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOwn{
        {{"host_ipc", "hostIPC"},
         {"host_pid", "hostPID"},
         {"cluster_ip", "clusterIP"},
         {"pod_ip", "podIP"},
         {"external_ips", "externalIPs"}}};
    for (const auto& [snake, camel] : kOwn) {
        if (name == snake) return std::string(camel);
    }
    std::string text;
    bool upper = false;
    for (const char c : name) {
        if (c == '_') {
            upper = !text.empty();
        } else {
            text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
            upper = false;
        }
    }
    return text;
}

Value written_scalar(const Block& block, std::size_t offset, std::string text, Value::Kind kind) {
    Value node;
    node.kind = kind;
    node.quoted = kind == Value::Kind::kString;
    node.mark = block.place(offset);
    node.scalar = std::move(text);
    return node;
}

void add_written(const Block& block, Value& mapping, std::size_t offset, std::string key,
                 Value value) {
    mapping.kind = Value::Kind::kMapping;
    mapping.entries.emplace_back(
        written_scalar(block, offset, std::move(key), Value::Kind::kString), std::move(value));
}

Value::Kind kind_of_word(std::string_view word) {
    if (word == "true" || word == "false" || word == "True" || word == "False")
        return Value::Kind::kBool;
    if (word == "null" || word == "None") return Value::Kind::kNull;
    if (word.empty()) return Value::Kind::kString;
    const bool number = std::all_of(word.begin(), word.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    });
    if (!number || std::isdigit(static_cast<unsigned char>(word.back())) == 0)
        return Value::Kind::kString;
    return word.find('.') == std::string_view::npos ? Value::Kind::kInteger : Value::Kind::kFloat;
}

Value* mapping_below(Value& mapping, std::initializer_list<std::string_view> path) {
    Value* node = &mapping;
    for (const std::string_view key : path) {
        Value* inner = nullptr;
        for (auto& [name, value] : node->entries) {
            if (name.scalar == key && value.is_mapping()) inner = &value;
        }
        if (inner == nullptr) return nullptr;
        node = inner;
    }
    return node;
}

}  // namespace aliquot::syntax
