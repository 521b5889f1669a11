// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_value.h"
#include "base/text.h"
#include "command_line/command.h"
#include "document/build.h"
#include "document/json.h"
#include "document/write.h"

namespace aliquot::cli {
namespace {

using document::Value;

/// Bytes that are no UTF-8 as U+FFFD.
std::string text_of(const nlohmann::ordered_json& json) {
    auto text = json.get<std::string>();
    if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80U; })) {
        return text;
    }
    return parse_json<nlohmann::ordered_json>(dumped(json)).get<std::string>();
}

Value number_of(const nlohmann::ordered_json& json) {
    Value value;
    if (json.is_number_float() && !std::isfinite(json.get<double>()))
        return value;  // as JSON has it
    value.kind = json.is_number_float() ? Value::Kind::kFloat : Value::Kind::kInteger;
    value.scalar = dumped(json);
    // "1e+20" is a text to readers of YAML 1.1.
    const auto power = value.scalar.find('e');
    if (power != std::string::npos && !value.scalar.contains('.')) value.scalar.insert(power, ".0");
    return value;
}

Value value_of(const nlohmann::ordered_json& json) {
    Value value;
    switch (json.type()) {
        using enum nlohmann::json::value_t;
        case object:
            value = document::make_mapping();
            for (const auto& [key, one] : json.items()) {
                document::append(value, key, value_of(one));
            }
            return value;
        case array:
            value = document::make_sequence();
            for (const auto& one : json) value.items.push_back(value_of(one));
            return value;
        case string:
            return document::make_string(text_of(json));
        case boolean:
            return document::make_bool(json.get<bool>());
        case number_integer:
        case number_unsigned:
        case number_float:
            return number_of(json);
        default:
            return value;
    }
}

/// "gpu_memory_gib": words of small letters and digits with lines between them.
bool is_snake_case(std::string_view key) {
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; };
    return key.contains('_') && key.front() != '_' && key.back() != '_' &&
           std::ranges::all_of(key, is_plain);
}

std::string camel_case(std::string_view key) {
    std::string camel;
    bool begins = false;
    for (const char c : key) {
        if (c != '_') camel += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
        begins = c == '_';
    }
    return camel;
}

/// Which spellings of keys a value gets.
enum class Spelling : std::uint8_t { kBoth, kCamel };

Value respelled(const Value& value, Spelling spelling) {
    if (!value.is_mapping() && !value.is_sequence()) return value;
    Value made;
    made.kind = value.kind;
    for (const Value& item : value.items) made.items.push_back(respelled(item, spelling));
    for (const auto& [key, one] : value.entries) {
        if (!is_snake_case(key.scalar)) {
            made.entries.emplace_back(key, respelled(one, spelling));
            continue;
        }
        document::append(made, camel_case(key.scalar), respelled(one, Spelling::kCamel));
        // What lies below the old key has its old keys: nothing is there more than twice.
        if (spelling == Spelling::kBoth) made.entries.emplace_back(key, one);
    }
    return made;
}

Value with_front(Value front, Value value) {
    front.entries.insert(front.entries.end(), std::make_move_iterator(value.entries.begin()),
                         std::make_move_iterator(value.entries.end()));
    return front;
}

}  // namespace

Value enveloped(std::string_view kind, Value value) {
    if (value.find("apiVersion") != nullptr) return value;
    Value answer = document::make_mapping({{"apiVersion", kAnswerVersion}, {"kind", kind}});
    if (value.is_mapping()) return with_front(std::move(answer), std::move(value));
    document::append(answer, "items", std::move(value));
    return answer;
}

Value with_camel_case(const Value& value) { return respelled(value, Spelling::kBoth); }

Value versioned(Value value) {
    return with_front(document::make_mapping({{"schemaVersion", 1}}), std::move(value));
}

void print_document(std::ostream& out, const Value& value, std::string_view format) {
    if (format == "json") {
        out << document::to_json(value) << '\n';
    } else {
        out << document::to_yaml(value);
    }
}

void print_answer(std::ostream& out, std::string_view kind, Value value, std::string_view format) {
    print_document(out, enveloped(kind, std::move(value)), format);
}

void print_answer(std::ostream& out, std::string_view kind, const nlohmann::ordered_json& value,
                  std::string_view format) {
    print_answer(out, kind, value_of(value), format);
}

void add_output(command_line::Command& command, std::string& format, std::vector<std::string> forms,
                std::vector<std::string> others, const std::string& description) {
    const auto has = [&](std::string_view form) {
        return std::ranges::find(forms, form) != forms.end();
    };
    const std::string taken = has("table") ? "text" : "table";
    const std::string meant = has("table") ? "table" : "text";
    const bool both = has(taken) || !has(meant);
    forms.insert(forms.end(), {"json", "yaml"});
    forms.insert(forms.end(), others.begin(), others.end());
    command.add_option("-o,--output", format, description, "FORMAT (" + join(forms) + ")")
        ->one_of(forms)
        ->transform([taken, meant, both](const std::string& word) {
            return word == taken && !both ? meant : word;
        });
}

}  // namespace aliquot::cli
