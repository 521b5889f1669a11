// SPDX-License-Identifier: Apache-2.0
#include "document/toml.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::document {
namespace {

constexpr std::size_t kMostValues = 200'000;
constexpr std::size_t kMostKeyParts = 64;
constexpr std::size_t kMostKeys = 2'000;  // of one table: keys are found by looking at each
constexpr unsigned kDepth = 32;

bool is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

Value key_node(std::string name, Mark mark) {
    Value node{.kind = Value::Kind::kString, .mark = mark};
    node.scalar = std::move(name);
    return node;
}

Value* child_of(Value& table, std::string_view name) {
    for (auto entry = table.entries.rbegin(); entry != table.entries.rend(); ++entry) {
        if (entry->first.scalar == name) return &entry->second;
    }
    return nullptr;
}

class TomlReader {
public:
    explicit TomlReader(std::string_view text) : text_(text) {
        if (text_.starts_with("\xef\xbb\xbf")) at_ = line_start_ = 3;
    }

    Toml run() {
        result_.root.kind = Value::Kind::kMapping;
        result_.root.mark = {1, 1};
        table_path_.clear();
        while (at_ < text_.size() && values_ < kMostValues && !full_) {
            skip_blanks(true);
            if (at_ >= text_.size()) break;
            const bool good = text_[at_] == '[' ? read_header() : read_pair(current(), 0);
            if (!good) {
                complain();
            } else if (skip_blanks(false); at_ < text_.size() && text_[at_] != '\n') {
                problem_ = "'" + one_line(trim(rest_of_line()), 40) +
                           "' is left over at the end of the line";
                complain();
            }
            skip_line();
        }
        if (full_) result_.problems.push_back({line_, "more than 2,000 keys in one table"});
        if (values_ >= kMostValues) result_.problems.push_back({line_, "too many values"});
        return std::move(result_);
    }

private:
    [[nodiscard]] Mark here() const {
        return {line_, static_cast<unsigned>(at_ - line_start_ + 1)};
    }

    [[nodiscard]] std::string_view rest_of_line() const {
        return text_.substr(at_, std::min(text_.find('\n', at_), text_.size()) - at_);
    }

    void complain() {
        result_.problems.push_back({line_, problem_});
        problem_.clear();
    }

    void step() {
        if (text_[at_++] == '\n') {
            ++line_;
            line_start_ = at_;
        }
    }

    void skip_line() {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        if (at_ < text_.size()) step();
    }

    void skip_blanks(bool breaks) {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r' || (breaks && c == '\n')) {
                step();
            } else {
                return;
            }
        }
    }

    /// Puts an entry into a table that does not have it; nullptr when the table is full.
    Value* add(Value& table, const std::string& name, Mark mark, Value value) {
        full_ = full_ || table.entries.size() >= kMostKeys;
        if (full_) return nullptr;
        table.entries.emplace_back(key_node(name, mark), std::move(value));
        return &table.entries.back().second;
    }

    /// The table of that name, made when it is not there; of an array of tables its last one.
    Value& table_in(Value& parent, const std::string& name, Mark mark) {
        Value* child = child_of(parent, name);
        if (child == nullptr) {
            child = add(parent, name, mark, Value{.kind = Value::Kind::kMapping, .mark = mark});
            if (child == nullptr) return parent;
        }
        if (child->is_sequence() && !child->items.empty() && child->items.back().is_mapping()) {
            child = &child->items.back();
        }
        if (!child->is_mapping()) *child = Value{.kind = Value::Kind::kMapping, .mark = mark};
        return *child;
    }

    bool fail(std::string problem) {
        problem_ = std::move(problem);
        return false;
    }

    /// The table that the last header opened. Looked up each time: vectors move.
    Value& current() {
        Value* table = &result_.root;
        for (const std::string& name : table_path_) table = &table_in(*table, name, here());
        return *table;
    }

    bool read_header() {
        const Mark mark = here();
        ++at_;
        const bool array = at_ < text_.size() && text_[at_] == '[';
        if (array) ++at_;
        std::vector<std::string> path;
        if (!read_key(path)) return false;
        const std::string_view close = array ? "]]" : "]";
        if (text_.substr(at_, close.size()) != close) {
            return fail("a table header needs '" + std::string(close) + "' at its end");
        }
        at_ += close.size();
        table_path_ = std::move(path);
        ++values_;
        if (!array) {
            Value& table = current();
            if (table.entries.empty()) table.mark = mark;
            return true;
        }
        const std::string name = table_path_.back();
        table_path_.pop_back();
        Value& parent = current();
        table_path_.push_back(name);
        Value* list = child_of(parent, name);
        if (list == nullptr) {
            list = add(parent, name, mark, Value{.kind = Value::Kind::kSequence, .mark = mark});
            if (list == nullptr) return true;  // run() ends with it
        }
        if (!list->is_sequence()) return fail("'" + name + "' is a table and a list of tables");
        list->items.push_back(Value{.kind = Value::Kind::kMapping, .mark = mark});
        return true;
    }

    bool read_key(std::vector<std::string>& path) {
        for (;;) {
            skip_blanks(false);
            if (at_ >= text_.size()) return fail("a key was expected");
            const char c = text_[at_];
            std::string part;
            if (c == '"' || c == '\'') {
                if (!read_quoted(part)) return false;
            } else {
                const auto begin = at_;
                while (at_ < text_.size() && is_bare(text_[at_])) ++at_;
                part = text_.substr(begin, at_ - begin);
                if (part.empty())
                    return fail("'" + one_line(trim(rest_of_line()), 60) + "' is no TOML");
            }
            path.push_back(std::move(part));
            if (path.size() > kMostKeyParts) return fail("a key of more than 64 parts");
            skip_blanks(false);
            if (at_ >= text_.size() || text_[at_] != '.') return true;
            ++at_;
        }
    }

    bool read_pair(Value& into, unsigned depth) {
        const Mark mark = here();
        std::vector<std::string> path;
        if (!read_key(path)) return false;
        if (at_ >= text_.size() || text_[at_] != '=') {
            return fail("'=' was expected behind the key '" + one_line(trim(join(path, ".")), 60) +
                        "'");
        }
        ++at_;
        skip_blanks(false);
        Value value;
        if (!read_value(value, depth)) return false;
        const std::string name = std::move(path.back());
        path.pop_back();
        Value* table = &into;
        for (const std::string& part : path) table = &table_in(*table, part, mark);
        if (Value* const existing = child_of(*table, name)) {
            *existing = std::move(value);
        } else {
            add(*table, name, mark, std::move(value));
        }
        return true;
    }

    bool read_value(Value& value, unsigned depth) {
        if (depth > kDepth) return fail("nested too deep");
        ++values_;
        value.mark = here();
        if (at_ >= text_.size()) return fail("a value was expected");
        switch (text_[at_]) {
            case '"':
            case '\'':
                value.kind = Value::Kind::kString;
                value.quoted = true;
                return read_quoted(value.scalar);
            case '[':
                return read_array(value, depth);
            case '{':
                return read_inline_table(value, depth);
            default:
                return read_word(value);
        }
    }

    bool read_word(Value& value) {
        const auto end = std::min(text_.find_first_of(",]}#\n\r", at_), text_.size());
        value.scalar = trim(text_.substr(at_, end - at_));
        at_ = end;
        if (value.scalar.empty()) return fail("a value was expected");
        if (value.scalar == "true" || value.scalar == "false") {
            value.kind = Value::Kind::kBool;
        } else if (value.scalar.find_first_not_of("0123456789+-_") == std::string::npos) {
            value.kind = Value::Kind::kInteger;
        } else {
            value.kind = Value::Kind::kString;  // numbers of other shapes, dates, and words
            const char first = value.scalar.front();
            if (first == '$' || first == '<') {
                return fail("'" + one_line(trim(value.scalar), 40) + "' needs quotes");
            }
        }
        return true;
    }

    bool read_array(Value& value, unsigned depth) {
        value.kind = Value::Kind::kSequence;
        ++at_;
        for (;;) {
            skip_blanks(true);
            if (at_ >= text_.size()) return fail("a list has no end");
            if (text_[at_] == ']') break;
            if (values_ >= kMostValues) return fail("too many values");
            value.items.emplace_back();
            if (!read_value(value.items.back(), depth + 1)) return false;
            skip_blanks(true);
            if (at_ < text_.size() && text_[at_] == ',') {
                ++at_;
            } else if (at_ >= text_.size() || text_[at_] != ']') {
                return fail("',' or ']' was expected in a list");
            }
        }
        ++at_;
        return true;
    }

    bool read_inline_table(Value& value, unsigned depth) {
        value.kind = Value::Kind::kMapping;
        ++at_;
        if (at_ < text_.size() && text_[at_] == '{') return fail("'{{': a template word");
        for (;;) {
            skip_blanks(true);
            if (at_ >= text_.size()) return fail("an inline table has no end");
            if (text_[at_] == '}') break;
            if (!read_pair(value, depth + 1)) return false;
            skip_blanks(true);
            if (at_ < text_.size() && text_[at_] == ',') {
                ++at_;
            } else if (at_ >= text_.size() || text_[at_] != '}') {
                return fail("',' or '}' was expected in a table");
            }
        }
        ++at_;
        return true;
    }

    bool read_quoted(std::string& out) {
        const char quote = text_[at_];
        const std::string three(3, quote);
        if (text_.substr(at_, 3) == three) {
            const auto end = text_.find(three, at_ + 3);
            if (end == std::string_view::npos) return fail("a text has no end");
            out = text_.substr(at_ + 3, end - at_ - 3);
            while (at_ < end + 3) step();
            return true;
        }
        ++at_;
        while (at_ < text_.size() && text_[at_] != '\n') {
            const char c = text_[at_++];
            if (c == quote) return true;
            if (c == '\\' && quote == '"' && at_ < text_.size() && text_[at_] != '\n') {
                const char escaped = text_[at_++];
                out += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
            } else {
                out += c;
            }
        }
        return fail("a text has no closing quote");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    std::size_t values_ = 0;
    bool full_ = false;  // some table
    unsigned line_ = 1;
    std::string problem_;
    std::vector<std::string> table_path_;
    Toml result_;
};

}  // namespace

Toml parse_toml(std::string_view text) { return TomlReader(text).run(); }

void merge_toml(Value& base, const Value& over) {
    for (const Value::Entry& entry : over.entries) {
        Value* const existing = child_of(base, entry.first.scalar);
        if (existing == nullptr) {
            base.entries.push_back(entry);
        } else if (existing->is_mapping() && entry.second.is_mapping()) {
            merge_toml(*existing, entry.second);
        } else {
            *existing = entry.second;
        }
    }
}

}  // namespace aliquot::document
