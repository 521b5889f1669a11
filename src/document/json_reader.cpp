// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "base/text.h"
#include "document/json.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

constexpr unsigned kDepth = 64;
constexpr std::size_t kMostValues = 2'000'000;

class JsonReader {
public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Result<Node> run() {
        std::vector<Node> values;
        for (skip(); at_ < text_.size(); skip()) {
            Node value;
            if (!read(value, 0)) {
                return Error{ErrorCode::kInvalidInput,
                             "line " + std::to_string(line_) + ": " + problem_};
            }
            values.push_back(std::move(value));
        }
        if (values.empty()) return Error{ErrorCode::kInvalidInput, "line 1: empty, JSON expected"};
        if (values.size() == 1) return std::move(values.front());
        Node all{.kind = Node::Kind::kSequence, .mark = {1, 1}};
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

    bool read(Node& node, unsigned depth) {
        if (depth > kDepth) return fail("nested more than 64 deep");
        if (++values_ > kMostValues) return fail("more than two million values");
        node.mark = {line_, static_cast<unsigned>(at_ - line_start_ + 1)};
        if (at_ >= text_.size()) return fail("the text ends where a value was expected");
        switch (text_[at_]) {
            case '{':
                return read_mapping(node, depth);
            case '[':
                return read_sequence(node, depth);
            case '"':
                node.kind = Node::Kind::kString;
                node.quoted = true;
                return read_string(node.scalar);
            default:
                return read_word(node);
        }
    }

    bool read_mapping(Node& node, unsigned depth) {
        node.kind = Node::Kind::kMapping;
        ++at_;
        for (skip();; skip()) {
            if (at_ < text_.size() && text_[at_] == '}') break;
            Node key{.kind = Node::Kind::kString,
                     .quoted = true,
                     .mark = {line_, static_cast<unsigned>(at_ - line_start_ + 1)}};
            if (at_ >= text_.size() || text_[at_] != '"') return fail("a key was expected");
            if (!read_string(key.scalar)) return false;
            skip();
            if (at_ >= text_.size() || text_[at_] != ':') return fail("':' was expected");
            ++at_;
            skip();
            Node value;
            if (!read(value, depth + 1)) return false;
            node.entries.emplace_back(std::move(key), std::move(value));
            skip();
            if (at_ < text_.size() && text_[at_] == ',') {
                ++at_;
            } else if (at_ >= text_.size() || text_[at_] != '}') {
                return fail("',' or '}' was expected");
            }
        }
        ++at_;
        return true;
    }

    bool read_sequence(Node& node, unsigned depth) {
        node.kind = Node::Kind::kSequence;
        ++at_;
        for (skip();; skip()) {
            if (at_ < text_.size() && text_[at_] == ']') break;
            node.items.emplace_back();
            if (!read(node.items.back(), depth + 1)) return false;
            skip();
            if (at_ < text_.size() && text_[at_] == ',') {
                ++at_;
            } else if (at_ >= text_.size() || text_[at_] != ']') {
                return fail("',' or ']' was expected");
            }
        }
        ++at_;
        return true;
    }

    bool read_word(Node& node) {
        const auto end = text_.find_first_of(",]} \t\r\n:{[\"", at_);
        const auto word = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
        if (word.empty()) return fail("a value was expected");
        if (word == "null") {
            node.kind = Node::Kind::kNull;
        } else if (word == "true" || word == "false") {
            node.kind = Node::Kind::kBool;
        } else if (word.find_first_not_of("0123456789+-.eE") == std::string_view::npos) {
            const bool whole = word.find_first_of(".eE") == std::string_view::npos;
            node.kind = whole ? Node::Kind::kInteger : Node::Kind::kFloat;
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
            const auto stop = text_.find_first_of("\"\\\n", at_);
            if (stop == std::string_view::npos) return fail("a text has no end");
            out.append(text_.substr(at_, stop - at_));
            at_ = stop + 1;
            if (text_[stop] == '"') return true;
            if (text_[stop] == '\n') return fail("a line break inside a text");
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
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    std::size_t values_ = 0;
    unsigned line_ = 1;
    std::string problem_;
};

}  // namespace

Result<Node> parse_json(std::string_view text) { return JsonReader(text).run(); }

Result<Node> parse_object(std::string_view text) {
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
    if (stream.documents.empty()) return Node{};
    if (stream.documents.size() == 1) return std::move(stream.documents.front());
    Node all{.kind = Node::Kind::kSequence, .mark = {1, 1}};
    all.items = std::move(stream.documents);
    return all;
}

}  // namespace aliquot::document
