// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/promql.h"

/// Where queries stand: rules, panels, triggers, blocks of runbooks.
namespace aliquot::lint {
namespace {

/// Finds rules, panels and triggers anywhere in an object.
class Finder {
public:
    Finder(File& file, int index)
        : file_(file), index_(index), object_(file.objects[static_cast<std::size_t>(index)]) {}

    void find() { visit(*object_.node, nullptr, 0); }

private:
    void visit(const Value& node, const Value* panel, int depth);
    void add(const Value& text, const Value& rule, Expression::Source source, const Value* panel);

    File& file_;
    int index_;
    const Object& object_;
};

void Finder::add(const Value& text, const Value& rule, Expression::Source source,
                 const Value* panel) {
    constexpr std::size_t kMost = 20'000;
    if (!text.is_string() || text.scalar.empty() || file_.expressions.size() >= kMost) return;
    const Block block = block_of_scalar(file_, object_.block, text);
    const Mark begin = text.mark;
    const std::string_view first_line = file_.line(begin.line);
    const std::size_t column = begin.column - 1;
    const bool quoted =
        column < first_line.size() && (first_line[column] == '"' || first_line[column] == '\'');
    const bool same_line = text.scalar.find('\n') == std::string::npos && !text.block;
    const syntax::QueryPlace place = [&](std::size_t offset) -> Mark {
        if (block.exact) return block.place(offset);
        if (!same_line) return begin;
        return {begin.line, begin.column + static_cast<unsigned>(offset) + (quoted ? 1U : 0U)};
    };
    Expression expression = syntax::cut_query(text.scalar, source, place);
    expression.mark = begin;
    expression.block = object_.block;
    expression.object = index_;
    expression.heading = file_.blocks[static_cast<std::size_t>(object_.block)].heading;
    expression.rule = &rule;
    expression.alert = document::text_at(rule, "alert");
    expression.record = document::text_at(rule, "record");
    expression.duration = document::text_at(rule, "for");
    if (panel != nullptr) {
        expression.rule = panel;
        expression.unit = document::text_at(*panel, "fieldConfig.defaults.unit");
        if (expression.unit.empty()) expression.unit = document::text_at(*panel, "yaxes.0.format");
        if (expression.unit.empty()) expression.unit = document::text_at(*panel, "format");
    }
    file_.expressions.push_back(std::move(expression));
}

void Finder::visit(const Value& node, const Value* panel, int depth) {
    constexpr int kDeepest = 40;
    if (depth > kDeepest) return;
    if (node.is_mapping()) {
        if (node.find("targets") != nullptr) panel = &node;
        const bool dashboard = panel != nullptr && node.find("alert") == nullptr;
        if (const Value* text = node.find("expr")) {
            add(*text, node, dashboard ? Expression::Source::kDashboard : Expression::Source::kRule,
                dashboard ? panel : nullptr);
        }
        if (const Value* text = at_path(node, "metadata.query")) {  // a trigger of KEDA
            if (document::text_at(node, "type") == "prometheus") {
                add(*text, node, Expression::Source::kAdapter, nullptr);
            }
        }
        if (const Value* text = at_path(node, "metric.name")) {  // an autoscaler
            add(*text, node, Expression::Source::kAdapter, nullptr);
        }
        for (const std::string_view key : {"seriesQuery", "metricsQuery"}) {
            if (const Value* text = node.find(key))
                add(*text, node, Expression::Source::kAdapter, nullptr);
        }
    }
    for (const auto& [key, value] : node.entries) visit(value, panel, depth + 1);
    for (const Value& item : node.items) visit(item, panel, depth + 1);
}

}  // namespace

void read_expressions(File& file, int object) {
    const Role role = file.objects[static_cast<std::size_t>(object)].role;
    if (role == Role::kNothing && !file.mentions("expr") && !file.mentions("seriesquery") &&
        !file.mentions("dcgm_fi_") && !file.mentions("nvidia_gpu_")) {
        return;
    }
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
        const syntax::QueryPlace place = [&block, begin](std::size_t at) {
            return block.place(begin + at);
        };
        Expression expression = syntax::cut_query(query, Expression::Source::kFence, place);
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
        const bool name = margin && syntax::begins_query(words);
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
