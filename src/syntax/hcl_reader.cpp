// SPDX-License-Identifier: Apache-2.0
#include "syntax/hcl_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "syntax/hcl_names.h"
#include "syntax/words.h"
#include "syntax/written_objects.h"

namespace aliquot::syntax {
namespace {

constexpr std::size_t kNoPlace = std::string_view::npos;
constexpr int kDeepestBlock = 30;

/// A word of a label or name: up to the first byte that is none of its own.
std::string_view name_before(std::string_view text, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                         text[begin - 1] == '_'))
        --begin;
    return text.substr(begin, end - begin);
}

}  // namespace

std::string HclReader::name_of(std::string_view written) const {
    return names_ == HclNames::kOfApi ? camel_case(written) : std::string(written);
}

/// Spaces, line ends and comments.
void HclReader::skip_blanks(bool lines) {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '#' || text_.substr(at_, 2) == "//") {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (text_.substr(at_, 2) == "/*") {
            const auto end = text_.find("*/", at_);
            at_ = end == kNoPlace ? text_.size() : end + 2;
        } else if (c == ' ' || c == '\t' || (lines && c == '\n')) {
            ++at_;
        } else {
            return;
        }
    }
}

std::string_view HclReader::read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '-')) {
        ++at_;
    }
    return text_.substr(begin, at_ - begin);
}

/// Of a string that begins at `quote`, `${ "..." }` in it passed over; npos: it has no end.
std::size_t HclReader::end_of_string(std::size_t quote) const {
    int level = 0;
    for (std::size_t i = quote + 1; i < text_.size() && text_[i] != '\n'; ++i) {
        if (text_[i] == '\\') {
            ++i;
        } else if (text_.substr(i, 2) == "${" || text_.substr(i, 2) == "%{") {
            ++level;
            ++i;
        } else if (text_[i] == '}' && level > 0) {
            --level;
        } else if (text_[i] == '"' && level == 0) {
            return i;
        }
    }
    return kNoPlace;
}

bool HclReader::skip_heredoc() {
    const auto newline = text_.find('\n', at_);
    if (newline == kNoPlace) return false;
    std::string_view word = trim(text_.substr(at_ + 2, newline - at_ - 2));
    if (word.starts_with("-")) word.remove_prefix(1);
    if (word.empty()) return false;
    for (std::size_t begin = newline + 1; begin < text_.size();) {
        const auto end = std::min(text_.find('\n', begin), text_.size());
        if (trim(text_.substr(begin, end - begin)) == word) {
            at_ = end;
            return true;
        }
        begin = end + 1;
    }
    return false;
}

/// Up to what ends a value: the end of the line, a comma or a bracket that it did not open.
bool HclReader::skip_expression() {
    int level = 0;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            const auto end = end_of_string(at_);
            if (end == kNoPlace) return false;
            at_ = end;
        } else if (text_.substr(at_, 2) == "<<" && level == 0) {
            return skip_heredoc();
        } else if (c == '{' || c == '[' || c == '(') {
            ++level;
        } else if (c == '}' || c == ']' || c == ')') {
            if (level-- == 0) return true;
        } else if (level == 0 && (c == '\n' || c == ',')) {
            return true;
        }
        ++at_;
    }
    return level == 0;
}

bool HclReader::read_value(Value& value, int depth) {
    if (depth > kDeepestBlock) broken_ = true;
    if (broken_) return false;
    const std::size_t begin = at_;
    bool plain = false;
    if (here() == '"') {
        const auto end = end_of_string(begin);
        if (end == kNoPlace) return false;
        value = written_scalar(block_, begin, std::string(text_.substr(begin + 1, end - begin - 1)),
                               Value::Kind::kString);
        at_ = end + 1;
        plain = true;
    } else if (here() == '[') {
        plain = read_list(value, depth + 1);
    } else if (here() == '{') {
        plain = read_map(value, depth + 1);
    } else {
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '.' || text_[at_] == '-')) {
            ++at_;
        }
        const std::string_view word = text_.substr(begin, at_ - begin);
        const Value::Kind kind = kind_of_word(word);
        plain = !word.empty() && kind != Value::Kind::kString;
        if (plain) value = written_scalar(block_, begin, std::string(word), kind);
    }
    if (plain) {
        skip_blanks(false);
        if (at_ >= text_.size() || std::string_view("\n,}]").find(here()) != kNoPlace) return true;
    }
    at_ = begin;
    if (broken_ || !skip_expression()) {
        broken_ = true;  // what is around it has no end either
        return false;
    }
    const std::string_view written =
        trim(text_.substr(begin, std::min(at_ - begin, std::size_t{80})));
    value = {};
    value = written_scalar(block_, begin,
                           "${" + std::string(written.substr(0, written.find('\n'))) + "}",
                           Value::Kind::kString);
    return true;
}

bool HclReader::read_list(Value& list, int depth) {
    list = {};
    list.kind = Value::Kind::kSequence;
    list.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks(true);
        if (here() == ']') {
            ++at_;
            return true;
        }
        if (text_.substr(at_, 4) == "for ") return false;
        Value item;
        const std::size_t begin = at_;
        if (at_ >= text_.size() || !read_value(item, depth) || at_ == begin) return false;
        list.items.push_back(std::move(item));
        skip_blanks(true);
        if (here() == ',') ++at_;
    }
}

bool HclReader::read_map(Value& mapping, int depth) {
    mapping = {};
    mapping.kind = Value::Kind::kMapping;
    mapping.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks(true);
        if (here() == '}') {
            ++at_;
            return true;
        }
        if (text_.substr(at_, 4) == "for ") return false;
        const std::size_t begin = at_;
        std::string key;
        if (here() == '"') {
            const auto end = end_of_string(at_);
            if (end == kNoPlace) return false;
            key = std::string(text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
        } else {
            key = std::string(read_name());
        }
        skip_blanks(false);
        if (key.empty() || (here() != '=' && here() != ':')) return false;
        ++at_;
        skip_blanks(false);
        Value value;
        if (!read_value(value, depth)) return false;
        add_written(block_, mapping, begin, std::move(key), std::move(value));
        skip_blanks(true);
        if (here() == ',') ++at_;
    }
}

bool HclReader::read_block(Value& mapping, std::string_view name, std::size_t begin,
                           std::string_view outer, int depth) {
    std::string_view label;
    while (here() == '"') {
        const auto end = end_of_string(at_);
        if (end == kNoPlace) return false;
        label = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        skip_blanks(false);
    }
    if (here() != '{') return false;
    ++at_;
    Value body;
    body.kind = Value::Kind::kMapping;
    body.mark = block_.place(begin);
    const bool dynamic = name == "dynamic";
    if (!read_body(body, name, depth + 1)) return false;
    if (dynamic) {
        gaps_ = true;
        const Value* content = body.find("content");
        Value inner = content == nullptr ? Value{} : *content;
        body = std::move(inner);
        name = label;
    }
    const bool of_api = names_ == HclNames::kOfApi;
    const std::string list = of_api ? hcl_list_name(name, outer) : std::string(name);
    if (list.empty() || (!of_api && mapping.find(name) == nullptr)) {
        add_written(block_, mapping, begin, name_of(name), std::move(body));
        return true;
    }
    for (auto& [key, value] : mapping.entries) {
        if (key.scalar != list) continue;
        if (!value.is_sequence()) {  // the second one of its name
            Value all;
            all.kind = Value::Kind::kSequence;
            all.mark = value.mark;
            all.items.push_back(std::move(value));
            value = std::move(all);
        }
        value.items.push_back(std::move(body));
        return true;
    }
    Value items;
    items.kind = Value::Kind::kSequence;
    items.mark = body.mark;
    items.items.push_back(std::move(body));
    add_written(block_, mapping, begin, list, std::move(items));
    return true;
}

bool HclReader::read_body(Value& mapping, std::string_view outer, int depth) {
    if (depth > kDeepestBlock) return false;
    for (;;) {
        skip_blanks(true);
        if (at_ >= text_.size()) return false;
        if (here() == '}') {
            ++at_;
            return true;
        }
        const std::size_t begin = at_;
        const std::string_view name = read_name();
        if (name.empty()) return false;
        skip_blanks(false);
        if (here() == '=' && text_.substr(at_, 2) != "==") {
            ++at_;
            skip_blanks(false);
            Value value;
            if (!read_value(value, depth)) return false;
            add_written(block_, mapping, begin, name_of(name), std::move(value));
        } else if (!read_block(mapping, name, begin, outer, depth)) {
            return false;
        }
    }
}

std::vector<HclBlock> read_hcl_blocks(const Block& block) {
    constexpr std::size_t kMost = 2'000;
    std::vector<HclBlock> found;
    const std::string_view text = block.text;
    HclReader reader(block, text, HclNames::kAsWritten);
    for (std::size_t line = 0; line < text.size() && found.size() < kMost;) {
        const std::size_t line_end = std::min(text.find('\n', line), text.size());
        const std::string_view head = text.substr(line, line_end - line);
        const auto brace = head.find('{');
        const bool begins = !head.empty() &&
                            std::isalpha(static_cast<unsigned char>(head[0])) != 0 &&
                            brace != kNoPlace && head.substr(0, brace).find('=') == kNoPlace;
        std::size_t next = line_end + 1;
        if (begins) {
            HclBlock one;
            const std::string_view words = trim(head.substr(0, brace));
            const auto blank = std::min(words.find_first_of(" \""), words.size());
            one.type = std::string(name_before(words, blank));
            for (auto quote = words.find('"'); quote != kNoPlace;
                 quote = words.find('"', words.find('"', quote + 1) + 1)) {
                const auto close = words.find('"', quote + 1);
                if (close == kNoPlace) break;
                one.labels.emplace_back(words.substr(quote + 1, close - quote - 1));
            }
            one.body.kind = Value::Kind::kMapping;
            one.body.mark = block.place(line);
            if (reader.read(line + brace + 1, one.body)) {
                next = std::max(next, reader.end());
                next = std::min(text.find('\n', next - 1), text.size()) + 1;
                found.push_back(std::move(one));
            }
        }
        line = next;
    }
    return found;
}

}  // namespace aliquot::syntax
