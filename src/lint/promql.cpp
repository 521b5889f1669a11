// SPDX-License-Identifier: Apache-2.0
#include "lint/promql.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace aliquot::lint {

namespace {

using Selector = Expression::Selector;
using Place = std::function<Mark(std::size_t)>;

constexpr std::size_t kDepth = 200;         // parentheses inside one another; deeper ones are flat
constexpr std::size_t kSelectors = 10'000;  // of one text
constexpr std::size_t kMatchers = 200;      // of one selector

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
bool in_name(char c) { return begins_name(c) || is_digit(c); }

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 14> kAggregations{
    "sum",         "avg",   "min",    "max",     "count",    "stddev",  "stdvar",
    "topk",        "group", "bottomk", "quantile", "limitk", "limit_ratio", "count_values"};
constexpr std::array<std::string_view, 9> kOperators{"and",  "or",  "unless", "atan2", "bool",
                                                     "offset", "inf", "nan",   "default"};

/// Goes through a query once.
class Scanner {
public:
    Scanner(std::string_view text, const Place& place) : text_(text), place_(place) {}

    Query read() {
        while (at_ < text_.size() && query_.selectors.size() < kSelectors) {
            step();
        }
        return std::move(query_);
    }

private:
    struct Frame {
        std::string function;  // "" of parentheses alone
        std::vector<std::string> grouping;
        std::size_t first = 0;  // index of the first selector inside
    };

    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void skip_blanks() {
        while (at_ < text_.size()) {
            if (is_blank(text_[at_])) {
                ++at_;
            } else if (text_[at_] == '#') {
                skip_to('\n');
            } else {
                return;
            }
        }
    }

    void skip_to(char end) {
        const auto found = text_.find(end, at_);
        at_ = found == std::string_view::npos ? text_.size() : found + 1;
    }

    std::string_view name() {
        const auto begin = at_;
        while (at_ < text_.size() && in_name(text_[at_])) {
            ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }

    /// The text in quotes that begins here; an open one ends with its line.
    std::string quoted() {
        const char quote = text_[at_++];
        std::string value;
        while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
            if (text_[at_] == '\\' && quote != '`' && at_ + 1 < text_.size()) {
                ++at_;
            }
            value += text_[at_++];
        }
        at_ = std::min(at_ + 1, text_.size());
        return value;
    }

    /// $x, ${x}, [[x]], {{ x }}: passed over. Whether there was one.
    bool skip_variable() {
        if (peek() == '$') {
            ++at_;
            if (peek() == '{') {
                skip_to('}');
            } else {
                name();
            }
            return true;
        }
        const auto skip_pair = [this](std::string_view open, std::string_view close) {
            if (text_.substr(at_, 2) != open) {
                return false;
            }
            const auto end = text_.find(close, at_ + 2);
            const auto line = text_.find('\n', at_);
            if (end == std::string_view::npos || line < end) {
                return false;
            }
            at_ = end + 2;
            return true;
        };
        return skip_pair("{{", "}}") || skip_pair("[[", "]]");
    }

    /// "(a, b)" behind by, on and the like; none when no parenthesis follows.
    std::vector<std::string> label_list() {
        std::vector<std::string> labels;
        skip_blanks();
        if (peek() != '(') {
            return labels;
        }
        ++at_;
        while (at_ < text_.size() && text_[at_] != ')' && labels.size() < kMatchers) {
            if (begins_name(text_[at_])) {
                labels.emplace_back(name());
            } else if (!skip_variable()) {
                ++at_;
            }
        }
        at_ = std::min(at_ + 1, text_.size());
        return labels;
    }

    void take_grouping(std::string_view keyword) {
        const auto labels = label_list();
        query_.group_labels.insert(query_.group_labels.end(), labels.begin(), labels.end());
        if (keyword != "by") {
            return;
        }
        if (!pending_.empty()) {  // sum by (x) (...)
            pending_grouping_ = labels;
            return;
        }
        for (auto i = closed_first_; i < closed_last_; ++i) {  // sum (...) by (x)
            auto& grouping = query_.selectors[i].grouping;
            grouping.insert(grouping.end(), labels.begin(), labels.end());
        }
    }

    void open() {
        ++at_;
        if (frames_.size() >= kDepth) {
            ++deeper_;
        } else {
            frames_.push_back({std::exchange(pending_, {}),
                               std::exchange(pending_grouping_, {}), query_.selectors.size()});
        }
        closed_first_ = closed_last_ = 0;
    }

    void close() {
        ++at_;
        pending_.clear();
        if (deeper_ > 0) {
            --deeper_;
        } else if (!frames_.empty()) {
            closed_first_ = frames_.back().first;
            closed_last_ = query_.selectors.size();
            frames_.pop_back();
        }
    }

    void read_matchers(Selector& selector) {
        ++at_;
        while (at_ < text_.size() && text_[at_] != '}' && selector.matchers.size() < kMatchers) {
            skip_blanks();
            if (skip_variable()) {
                continue;
            }
            if (!begins_name(peek())) {
                if (peek() == '"' || peek() == '\'') {
                    quoted();
                } else if (peek() != '}') {
                    ++at_;
                }
                continue;
            }
            Selector::Matcher matcher;
            matcher.mark = place_(at_);
            matcher.label = name();
            skip_blanks();
            while (peek() == '=' || peek() == '!' || peek() == '~') {
                matcher.op += text_[at_++];
            }
            skip_blanks();
            if (peek() == '"' || peek() == '\'' || peek() == '`') {
                matcher.value = quoted();
            } else if (!matcher.op.empty()) {
                skip_variable();
            }
            if (matcher.label == "__name__" && matcher.op == "=" && selector.metric.empty()) {
                selector.metric = matcher.value;
            }
            selector.matchers.push_back(std::move(matcher));
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    void add_selector(std::string_view metric, std::size_t begin) {
        Selector selector;
        selector.metric = metric;
        selector.mark = place_(begin);
        if (peek() == '{' && peek(1) != '{') {
            read_matchers(selector);
        }
        skip_blanks();
        if (peek() == '[' && peek(1) != '[') {
            const auto end = text_.find_first_of("]\n", at_);
            if (end != std::string_view::npos && text_[end] == ']') {
                selector.range = text_.substr(at_ + 1, end - at_ - 1);
                at_ = end + 1;
            }
        }
        for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
            if (!frame->function.empty()) {
                selector.functions.push_back(frame->function);
            }
            selector.grouping.insert(selector.grouping.end(), frame->grouping.begin(),
                                     frame->grouping.end());
        }
        query_.selectors.push_back(std::move(selector));
    }

    void take_word() {
        const auto begin = at_;
        const auto word = name();
        const auto after = at_;
        if (word == "by" || word == "without" || word == "on" || word == "ignoring" ||
            word == "group_left" || word == "group_right") {
            take_grouping(word);
            return;
        }
        skip_blanks();
        if (peek() == '(') {
            pending_ = word;
            return;
        }
        if (is_one_of(word, kAggregations)) {
            const auto next = text_.substr(at_, 8);
            if (next.starts_with("by") || next.starts_with("without")) {
                pending_ = word;
                return;
            }
        }
        pending_.clear();
        if (is_one_of(word, kOperators)) {
            return;
        }
        if (peek() != '{' && peek() != '[') {
            at_ = after;
        }
        add_selector(word, begin);
    }

    void step() {
        skip_blanks();
        const char c = peek();
        if (at_ >= text_.size() || skip_variable()) {
            return;
        }
        if (begins_name(c)) {
            take_word();
        } else if (is_digit(c)) {
            name();  // 5m, 1e9 and 0x10 as one
        } else if (c == '(') {
            open();
        } else if (c == ')') {
            close();
        } else if (c == '{') {
            const auto begin = at_;
            add_selector({}, begin);
            at_ = std::max(at_, begin + 1);
        } else if (c == '"' || c == '\'' || c == '`') {
            quoted();
        } else {
            pending_.clear();
            ++at_;
        }
    }

    std::string_view text_;
    const Place& place_;
    std::size_t at_ = 0;
    Query query_;
    std::vector<Frame> frames_;
    std::size_t deeper_ = 0;
    std::string pending_;  // a function or aggregation whose parenthesis comes
    std::vector<std::string> pending_grouping_;
    std::size_t closed_first_ = 0;  // selectors inside the parentheses that closed last
    std::size_t closed_last_ = 0;
};

}  // namespace

Query read_query(std::string_view text, const Block& block, std::size_t offset) {
    const Place place = [&block, offset](std::size_t at) { return block.place(offset + at); };
    return Scanner(text, place).read();
}

Query read_query(std::string_view text, Mark mark) {
    const Place place = [mark](std::size_t) { return mark; };
    return Scanner(text, place).read();
}

std::vector<Selector> read_selectors(std::string_view text, const Block& block,
                                     std::size_t offset) {
    return read_query(text, block, offset).selectors;
}

std::vector<Selector> read_selectors(std::string_view text, Mark mark) {
    return read_query(text, mark).selectors;
}

}  // namespace aliquot::lint
