// SPDX-License-Identifier: Apache-2.0
#include "lint/promql.h"

#include <algorithm>
#include <array>

#include "lint/reading.h"
#include "lint/words.h"

namespace aliquot::lint {
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
template <class Place>
class Cutter {
public:
    Cutter(std::string_view text, const Place& place) : text_(text), place_(place) {}

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
    const Place& place_;
    std::size_t at_ = 0;
    std::vector<Selector> selectors_;
    std::vector<Open> open_;
    std::string pending_;  // a function whose '(' comes
    std::vector<std::string> pending_grouping_;
    std::vector<std::vector<std::string>> grouping_;
};

template <class Place>
void Cutter<Place>::step() {
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

template <class Place>
void Cutter<Place>::skip_string(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
}

template <class Place>
void Cutter<Place>::read_name() {
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

template <class Place>
void Cutter<Place>::read_selector(std::string_view metric, std::size_t begin) {
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

template <class Place>
void Cutter<Place>::read_matchers(Selector& selector) {
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

template <class Place>
void Cutter<Place>::read_range(Selector& selector) {
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

template <class Place>
std::vector<std::string> Cutter<Place>::read_labels() {
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

template <class Place>
Expression make_expression(std::string_view text, Expression::Source source, const Place& place) {
    constexpr std::size_t kLongest = 65'536;
    text = text.substr(0, kLongest);
    Expression expression;
    expression.source = source;
    expression.text = std::string(text);
    Cutter<Place> cutter(text, place);
    expression.selectors = cutter.cut();
    expression.group_labels = std::move(cutter.labels);
    return expression;
}

/// Finds rules, panels and triggers anywhere in an object.
class Finder {
public:
    Finder(File& file, int index)
        : file_(file), index_(index), object_(file.objects[static_cast<std::size_t>(index)]) {}

    void find() { visit(*object_.node, nullptr, 0); }

private:
    void visit(const Node& node, const Node* panel, int depth);
    void add(const Node& text, const Node& rule, Expression::Source source, const Node* panel);

    File& file_;
    int index_;
    const Object& object_;
};

void Finder::add(const Node& text, const Node& rule, Expression::Source source, const Node* panel) {
    constexpr std::size_t kMost = 20'000;
    if (!text.is_string() || text.scalar.empty() || file_.expressions.size() >= kMost) return;
    const Block block = block_of_scalar(file_, object_.block, text);
    const Mark begin = text.mark;
    const std::string_view first_line = file_.line(begin.line);
    const std::size_t column = begin.column - 1;
    const bool quoted =
        column < first_line.size() && (first_line[column] == '"' || first_line[column] == '\'');
    const bool same_line = text.scalar.find('\n') == std::string::npos && !text.block;
    const auto place = [&](std::size_t offset) -> Mark {
        if (block.exact) return block.place(offset);
        if (!same_line) return begin;
        return {begin.line, begin.column + static_cast<unsigned>(offset) + (quoted ? 1U : 0U)};
    };
    Expression expression = make_expression(text.scalar, source, place);
    expression.mark = begin;
    expression.block = object_.block;
    expression.object = index_;
    expression.heading = file_.blocks[static_cast<std::size_t>(object_.block)].heading;
    expression.rule = &rule;
    expression.alert = lint::text_at(rule, "alert");
    expression.record = lint::text_at(rule, "record");
    expression.duration = lint::text_at(rule, "for");
    if (panel != nullptr) {
        expression.rule = panel;
        expression.unit = lint::text_at(*panel, "fieldConfig.defaults.unit");
        if (expression.unit.empty()) expression.unit = lint::text_at(*panel, "yaxes.0.format");
        if (expression.unit.empty()) expression.unit = lint::text_at(*panel, "format");
    }
    file_.expressions.push_back(std::move(expression));
}

void Finder::visit(const Node& node, const Node* panel, int depth) {
    constexpr int kDeepest = 40;
    if (depth > kDeepest) return;
    if (node.is_mapping()) {
        if (node.find("targets") != nullptr) panel = &node;
        const bool dashboard = panel != nullptr && node.find("alert") == nullptr;
        if (const Node* text = node.find("expr")) {
            add(*text, node, dashboard ? Expression::Source::kDashboard : Expression::Source::kRule,
                dashboard ? panel : nullptr);
        }
        if (const Node* text = at_path(node, "metadata.query")) {  // a trigger of KEDA
            if (lint::text_at(node, "type") == "prometheus") {
                add(*text, node, Expression::Source::kAdapter, nullptr);
            }
        }
        if (const Node* text = at_path(node, "metric.name")) {  // an autoscaler
            add(*text, node, Expression::Source::kAdapter, nullptr);
        }
        for (const std::string_view key : {"seriesQuery", "metricsQuery"}) {
            if (const Node* text = node.find(key))
                add(*text, node, Expression::Source::kAdapter, nullptr);
        }
    }
    for (const auto& [key, value] : node.entries) visit(value, panel, depth + 1);
    for (const Node& item : node.items) visit(item, panel, depth + 1);
}

}  // namespace

std::vector<Selector> read_selectors(std::string_view text, const Block& block,
                                     std::size_t offset) {
    const auto place = [&block, offset](std::size_t at) { return block.place(offset + at); };
    return Cutter(text, place).cut();
}

std::vector<Selector> read_selectors(std::string_view text, Mark mark) {
    const auto place = [mark](std::size_t at) {
        return Mark{mark.line, mark.column + static_cast<unsigned>(at)};
    };
    return Cutter(text, place).cut();
}

void read_expressions(File& file, int object) {
    const Role role = file.objects[static_cast<std::size_t>(object)].role;
    if (role == Role::kNothing && !file.mentions("expr")) return;
    if (!file.mentions("expr") && !file.mentions("query") && !file.mentions("metric")) return;
    Finder(file, object).find();
}

/// A blank line or a comment line parts two queries; so does a line that begins one at the margin.
void read_queries(File& file, int index) {
    const Block block = file.blocks[static_cast<std::size_t>(index)];
    const std::string_view text = block.text;
    std::size_t begin = 0;
    const auto finish = [&](std::size_t end) {
        const std::string_view query = text.substr(begin, end - begin);
        if (trim(query).empty()) return;
        const std::size_t first = begin + query.find_first_not_of(" \t\n");
        const auto place = [&block, begin](std::size_t at) { return block.place(begin + at); };
        Expression expression = make_expression(query, Expression::Source::kFence, place);
        expression.mark = block.place(first);
        expression.block = index;
        expression.heading = block.heading;
        file.expressions.push_back(std::move(expression));
    };
    int level = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t newline = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, newline - at);
        const std::string_view words = trim(line);
        const bool margin = !words.empty() && line.front() == words.front();
        const bool name =
            margin && is_name_start(words.front()) && !is_keyword(words.substr(0, words.find(' ')));
        if (words.empty() || words.front() == '#' || (name && level <= 0)) {
            finish(at);
            begin = words.empty() || words.front() == '#' ? newline : at;
            level = 0;
        }
        for (const char c : words)
            level += c == '(' || c == '{' ? 1 : c == ')' || c == '}' ? -1 : 0;
        at = newline + 1;
    }
    begin = std::min(begin, text.size());
    finish(text.size());
}

}  // namespace aliquot::lint
