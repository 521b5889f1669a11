// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "document/json.h"
#include "document/scalar.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

constexpr std::size_t kMostValues = 2'000'000;

class JsonReader {
public:
    JsonReader(std::string_view text, JsonLimits limits) : text_(text), limits_(limits) {}

    Result<Value> run() {
        std::vector<Value> values;
        for (skip(); at_ < text_.size(); skip()) {
            Value value;
            const bool one_more =
                values.empty() || limits_.several || fail("one value was expected");
            if (!one_more || !read(value, 0)) {
                return Error{ErrorCode::kInvalidInput,
                             "line " + std::to_string(line_) + ": " + problem_};
            }
            values.push_back(std::move(value));
        }
        if (values.empty()) return Error{ErrorCode::kInvalidInput, "line 1: empty, JSON expected"};
        if (values.size() == 1) return std::move(values.front());
        Value all{.kind = Value::Kind::kSequence, .mark = {1, 1}};
        all.items = std::move(values);
        return all;
    }

private:
    bool fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
        return false;
    }

    void skip() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                line_start_ = at_ + 1;
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return;
            }
            ++at_;
        }
    }

    bool read(Value& node, unsigned depth) {
        if (depth > limits_.depth) {
            return fail("nested more than " + std::to_string(limits_.depth) + " deep");
        }
        if (++values_ > kMostValues) return fail("more than two million values");
        node.mark = {line_, static_cast<unsigned>(at_ - line_start_ + 1)};
        if (at_ >= text_.size()) return fail("the text ends where a value was expected");
        switch (text_[at_]) {
            case '{':
                return read_mapping(node, depth);
            case '[':
                return read_sequence(node, depth);
            case '"':
                node.kind = Value::Kind::kString;
                node.quoted = true;
                return read_string(node.scalar);
            default:
                return read_word(node);
        }
    }

    bool read_mapping(Value& node, unsigned depth) {
        node.kind = Value::Kind::kMapping;
        ++at_;
        for (skip();; skip()) {
            if (node.entries.empty() && at_ < text_.size() && text_[at_] == '}') break;
            Value key{.kind = Value::Kind::kString,
                      .quoted = true,
                      .mark = {line_, static_cast<unsigned>(at_ - line_start_ + 1)}};
            if (at_ >= text_.size() || text_[at_] != '"') return fail("a key was expected");
            if (!read_string(key.scalar)) return false;
            skip();
            if (at_ >= text_.size() || text_[at_] != ':') return fail("':' was expected");
            ++at_;
            skip();
            Value value;
            if (!read(value, depth + 1)) return false;
            node.entries.emplace_back(std::move(key), std::move(value));
            skip();
            if (at_ >= text_.size() || (text_[at_] != ',' && text_[at_] != '}')) {
                return fail("',' or '}' was expected");
            }
            if (text_[at_] == '}') break;
            ++at_;
        }
        ++at_;
        return true;
    }

    bool read_sequence(Value& node, unsigned depth) {
        node.kind = Value::Kind::kSequence;
        ++at_;
        for (skip();; skip()) {
            if (node.items.empty() && at_ < text_.size() && text_[at_] == ']') break;
            node.items.emplace_back();
            if (!read(node.items.back(), depth + 1)) return false;
            skip();
            if (at_ >= text_.size() || (text_[at_] != ',' && text_[at_] != ']')) {
                return fail("',' or ']' was expected");
            }
            if (text_[at_] == ']') break;
            ++at_;
        }
        ++at_;
        return true;
    }

    bool read_word(Value& node) {
        const auto end = text_.find_first_of(",]} \t\r\n:{[\"", at_);
        const auto word = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
        if (word.empty()) return fail("a value was expected");
        if (word == "null") {
            node.kind = Value::Kind::kNull;
        } else if (word == "true" || word == "false") {
            node.kind = Value::Kind::kBool;
        } else if (is_json_number(word)) {
            const bool whole = word.find_first_of(".eE") == std::string_view::npos;
            constexpr std::size_t kSurelyInRange = 300;  // digits
            if ((!whole || word.size() > kSurelyInRange) && !parse_number<double>(word)) {
                return fail("a number out of range");
            }
            node.kind = whole ? Value::Kind::kInteger : Value::Kind::kFloat;
        } else {
            return fail("'" + std::string(word.substr(0, 40)) + "' is no JSON value");
        }
        node.scalar = word;
        at_ += word.size();
        return true;
    }

    bool read_string(std::string& out) {
        ++at_;
        for (;;) {
            const std::size_t from = at_;
            while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
                   static_cast<unsigned char>(text_[at_]) >= ' ') {
                ++at_;
            }
            if (at_ >= text_.size()) return fail("a text has no end");
            out.append(text_.substr(from, at_ - from));
            const char stop = text_[at_++];
            if (stop == '"') return true;
            if (stop != '\\') return fail("a line break or control character inside a text");
            if (!read_escape(out)) return false;
        }
    }

    bool read_escape(std::string& out) {
        if (at_ >= text_.size()) return fail("a text has no end");
        const char c = text_[at_++];
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
        if (const auto known = kNames.find(c); known != std::string_view::npos) {
            out += kValues[known];
            return true;
        }
        if (c != 'u') return fail("an unknown escape");
        auto unit = read_unit();
        if (!unit) return fail("\\u needs four hexadecimal digits");
        std::uint32_t code = *unit;
        if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
            at_ += 2;
            const auto low = read_unit();
            if (!low) return fail("\\u needs four hexadecimal digits");
            code = *low >= 0xdc00 && *low < 0xe000
                       ? 0x10000U + ((code - 0xd800U) << 10U) + (*low - 0xdc00U)
                       : 0xfffdU;
        }
        append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffdU : code);
        return true;
    }

    std::optional<std::uint32_t> read_unit() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) {
            if (at_ >= text_.size()) return std::nullopt;
            const char c = text_[at_++];
            if (hex_value(c) < 0) return std::nullopt;
            value = value << 4U | static_cast<std::uint32_t>(hex_value(c));
        }
        return value;
    }

    std::string_view text_;
    JsonLimits limits_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    std::size_t values_ = 0;
    unsigned line_ = 1;
    std::string problem_;
};

}  // namespace

Result<Value> parse_json(std::string_view text, JsonLimits limits) {
    return JsonReader(text, limits).run();
}

Result<Value> parse_object(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
        if (auto json = parse_json(text)) return json;
    }
    auto stream = parse_yaml(text);
    if (!stream.errors.empty()) {
        return Error{
            ErrorCode::kInvalidInput,
            "line " + std::to_string(stream.errors[0].mark.line) + ": " + stream.errors[0].message};
    }
    if (stream.documents.empty()) return Value{};
    if (stream.documents.size() == 1) return std::move(stream.documents.front());
    Value all{.kind = Value::Kind::kSequence, .mark = {1, 1}};
    all.items = std::move(stream.documents);
    return all;
}

}  // namespace aliquot::document
