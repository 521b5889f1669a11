// SPDX-License-Identifier: Apache-2.0
#include "syntax/promql.h"

#include <algorithm>
#include <array>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

using Selector = Expression::Selector;

bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

constexpr std::array<std::string_view, 20> kKeywords{
    "by",    "without", "on",     "ignoring", "group_left", "group_right", "and",
    "or",    "unless",  "offset", "bool",     "inf",        "nan",         "atan2",
    "start", "end",     "true",   "false",    "default",    "if"};

bool is_keyword(std::string_view word) {
    const std::string folded = lower(word);
    return std::find(kKeywords.begin(), kKeywords.end(), folded) != kKeywords.end();
}

bool is_grouping(std::string_view word) {
    const std::string folded = lower(word);
    return folded == "by" || folded == "without" || folded == "on" || folded == "ignoring" ||
           folded == "group_left" || folded == "group_right";
}

/// Cuts a query; `place` turns an offset into a mark.
class Cutter {
public:
    Cutter(std::string_view text, const QueryPlace& place) : text_(text), place_(place) {}

    std::vector<Selector> cut() {
        while (at_ < text_.size() && selectors_.size() < kMost) step();
        return std::move(selectors_);
    }

    std::vector<std::string> labels;

private:
    static constexpr std::size_t kMost = 10'000;
    static constexpr std::size_t kDeepest = 64;
    struct Open {
        std::string function;
        std::size_t first_selector = 0;
    };

    void step();
    void read_name();
    void read_selector(std::string_view metric, std::size_t begin);
    void read_matchers(Selector& selector);
    void read_range(Selector& selector);
    std::vector<std::string> read_labels();
    void skip_string(char quote);
    void skip_blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
            ++at_;
    }
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    std::string_view text_;
    const QueryPlace& place_;
    std::size_t at_ = 0;
    std::vector<Selector> selectors_;
    std::vector<Open> open_;
    std::string pending_;  // a function whose '(' comes
    std::vector<std::string> pending_grouping_;
    std::vector<std::vector<std::string>> grouping_;
};

void Cutter::step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
        skip_string(c);
    } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '(') {
        ++at_;
        if (open_.size() < kDeepest) {
            open_.push_back({std::move(pending_), selectors_.size()});
            grouping_.push_back(std::move(pending_grouping_));
        }
        pending_.clear();
        pending_grouping_.clear();
    } else if (c == ')') {
        ++at_;
        if (open_.empty()) return;
        const Open closed = std::move(open_.back());
        std::vector<std::string> group = std::move(grouping_.back());
        open_.pop_back();
        grouping_.pop_back();
        skip_blanks();
        const std::size_t before = at_;
        std::size_t end = at_;
        while (end < text_.size() && is_name(text_[end])) ++end;
        if (!closed.function.empty() &&
            is_grouping(text_.substr(at_, end - at_))) {  // sum(x) by (pod)
            at_ = end;
            skip_blanks();
            if (peek() == '(') {
                group = read_labels();
            } else {
                at_ = before;
            }
        }
        for (std::size_t i = closed.first_selector; i < selectors_.size(); ++i) {
            if (!closed.function.empty()) selectors_[i].functions.push_back(closed.function);
            selectors_[i].grouping.insert(selectors_[i].grouping.end(), group.begin(), group.end());
        }
    } else if (is_name_start(c)) {
        read_name();
    } else if (c == '{') {
        read_selector("", at_);
    } else if (c == '[') {
        at_ = std::min(text_.find(']', at_), text_.size());
    } else if (c >= '0' && c <= '9') {
        while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.')) ++at_;
    } else if (c == '$') {  // a variable of a dashboard
        ++at_;
        while (at_ < text_.size() &&
               (is_name(text_[at_]) || text_[at_] == '{' || text_[at_] == '}'))
            ++at_;
    } else {
        ++at_;
    }
}

void Cutter::skip_string(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
}

void Cutter::read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const std::size_t end = at_;
    skip_blanks();
    if (is_grouping(word)) {
        if (peek() == '(') {
            std::vector<std::string> read = read_labels();
            if (!pending_.empty()) pending_grouping_ = std::move(read);
        }
        return;
    }
    if (peek() == '(') {
        pending_ = lower(word);
        return;
    }
    // `sum by (x) (...)`: the function's parenthesis comes behind its labels.
    std::size_t next_end = at_;
    while (next_end < text_.size() && is_name(text_[next_end])) ++next_end;
    const std::string_view next = text_.substr(at_, next_end - at_);
    if (next == "by" || next == "without" || next == "BY") {
        pending_ = lower(word);
        return;
    }
    if (is_keyword(word)) return;
    at_ = end;
    read_selector(word, begin);
}

void Cutter::read_selector(std::string_view metric, std::size_t begin) {
    Selector selector;
    selector.metric = std::string(metric);
    selector.mark = place_(begin);
    const std::size_t before = at_;
    skip_blanks();
    if (peek() == '{') {
        read_matchers(selector);
    } else {
        at_ = before;
    }
    read_range(selector);
    selectors_.push_back(std::move(selector));
}

void Cutter::read_matchers(Selector& selector) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '}') {
        skip_blanks();
        if (!is_name_start(peek())) {
            if (peek() == '}') break;
            if (peek() == '"' || peek() == '\'') {
                skip_string(peek());
            } else if (at_ < text_.size()) {
                ++at_;
            }
            continue;
        }
        Selector::Matcher matcher;
        matcher.mark = place_(at_);
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        matcher.label = std::string(text_.substr(begin, at_ - begin));
        skip_blanks();
        while (peek() == '=' || peek() == '!' || peek() == '~') matcher.op += text_[at_++];
        skip_blanks();
        const char quote = peek();
        if (quote == '"' || quote == '\'' || quote == '`') {
            const std::size_t value = at_ + 1;
            skip_string(quote);
            const std::size_t value_end = std::max(value, at_ == 0 ? 0 : at_ - 1);
            matcher.value =
                std::string(text_.substr(std::min(value, text_.size()), value_end - value));
        }
        if (!matcher.op.empty()) {
            if (matcher.label == "__name__" && selector.metric.empty() && matcher.op == "=") {
                selector.metric = matcher.value;
            }
            selector.matchers.push_back(std::move(matcher));
        }
    }
    at_ = std::min(at_ + 1, text_.size());
}

void Cutter::read_range(Selector& selector) {
    const std::size_t before = at_;
    skip_blanks();
    if (peek() != '[') {
        at_ = before;
        return;
    }
    const std::size_t end = std::min(text_.find(']', at_), text_.size());
    selector.range = std::string(trim(text_.substr(at_ + 1, end - at_ - 1)));
    at_ = std::min(end + 1, text_.size());
}

std::vector<std::string> Cutter::read_labels() {
    std::vector<std::string> result;
    const std::size_t end = std::min(text_.find(')', at_), text_.size());
    for (const std::string_view part : split(text_.substr(at_ + 1, end - at_ - 1), ',')) {
        const std::string_view label = trim(part);
        if (!label.empty() && std::all_of(label.begin(), label.end(), is_name)) {
            result.emplace_back(label);
            labels.emplace_back(label);
        }
    }
    at_ = std::min(end + 1, text_.size());
    return result;
}

}  // namespace

bool begins_query(std::string_view line) {
    return !line.empty() && is_name_start(line.front()) &&
           !is_keyword(line.substr(0, line.find(' ')));
}

bool is_query(std::string_view words) {
    constexpr std::array<std::string_view, 3> kFamilies{"DCGM_FI_", "nvidia_gpu_", "nvidia_smi_"};
    constexpr std::array<std::string_view, 9> kOperators{"{",   "(",   "[",   " / ", " > ",
                                                         " < ", " * ", " + ", " == "};
    const auto has = [words](std::string_view one) {
        return words.find(one) != std::string_view::npos;
    };
    return std::any_of(kFamilies.begin(), kFamilies.end(), has) &&
           std::any_of(kOperators.begin(), kOperators.end(), has) &&
           (begins_query(words) || words.front() == '(' ||
            (words.front() >= '0' && words.front() <= '9'));
}

Expression cut_query(std::string_view text, Expression::Source source, const QueryPlace& place) {
    constexpr std::size_t kLongest = 65'536;
    text = text.substr(0, kLongest);
    Expression expression;
    expression.source = source;
    expression.text = std::string(text);
    Cutter cutter(text, place);
    expression.selectors = cutter.cut();
    expression.group_labels = std::move(cutter.labels);
    return expression;
}

std::vector<Selector> read_selectors(std::string_view text, const Block& block,
                                     std::size_t offset) {
    const QueryPlace place = [&block, offset](std::size_t at) { return block.place(offset + at); };
    return Cutter(text, place).cut();
}

std::vector<Selector> read_selectors(std::string_view text, Mark mark) {
    const QueryPlace place = [mark](std::size_t at) {
        return Mark{mark.line, mark.column + static_cast<unsigned>(at)};
    };
    return Cutter(text, place).cut();
}

}  // namespace aliquot::syntax
