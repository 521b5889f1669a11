// SPDX-License-Identifier: Apache-2.0
// Expressions of rules that Prometheus does not read: PROM011, PROM012.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "lint/forms.h"
#include "lint/rules/metrics.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == ':';
}

/// Walks an expression once: what stands before a bracket, and whether brackets come in pairs.
class SyntaxCheck {
public:
    SyntaxCheck(const Expression& expression, Report& report)
        : expression_(expression), report_(report) {}

    /// `{gpu=0}`: PromQL takes quoted values alone.
    void check_matchers() {
        const std::string& text = expression_.text;
        bool inside = false;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const char c = text[at];
            if (c == '"' || c == '\'' || c == '`') {
                at = text.find(c, at + 1);
                if (at == std::string::npos) return;
            } else if (c == '{' || c == '}') {
                inside = c == '{';
            } else if (inside && c == '=') {
                at = text.find_first_not_of("=~ \t\n", at);
                if (at == std::string::npos) return;
                if (text[at] != '"' && text[at] != '\'' && text[at] != '`')
                    return say("the value of a label has no quotes", "label=\"value\"");
                --at;
            }
        }
    }

    void check() {
        const std::string& text = expression_.text;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const char c = text[at];
            if (c == '"' || c == '\'' || c == '`') {
                at = text.find(c, at + 1);
                while (at != std::string::npos && c != '`' && text[at - 1] == '\\')
                    at = text.find(c, at + 1);
                if (at == std::string::npos) return say("a quote is not closed");
            } else if (c == '#') {
                at = std::min(text.find('\n', at), text.size());
            } else if (c == '(' || c == '[' || c == '{') {
                if (c == '(') check_word_before(at);
                open_.push_back(c);
            } else if (c == ')' || c == ']' || c == '}') {
                const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
                if (open_.empty() || open_.back() != opening)
                    return say(std::string("'") + c + "' closes nothing");
                open_.pop_back();
            }
        }
        if (!open_.empty()) say(std::string("'") + open_.back() + "' is not closed");
    }

    /// `[1 h]`, and `by namespace` without parentheses.
    void check_words() {
        std::string text;
        for (const std::string_view line : split(expression_.text, '\n'))
            text += std::string(line.substr(0, line.find('#'))) + ' ';
        for (auto at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
            const std::string range = text.substr(at + 1, text.find(']', at) - at - 1);
            for (const std::string_view part : split(range, ':')) {
                if (trim(part).empty() || is_range(trim(part))) continue;
                say("'[" + range + "]' is not a range", "a duration such as [5m] or [1h30m]");
                return;
            }
        }
        for (const std::string_view word : {" by ", " without ", " on ", " ignoring "}) {
            for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
                const auto next = text.find_first_not_of(" \n", at + word.size());
                if (next == std::string::npos || text[next] == '(') continue;
                if (text[next] == '=' || text[next] == '"') continue;  // a label of that name
                say(std::string(trim(word)) + " without parentheses",
                    std::string(trim(word)) + " (LABEL, ...)");
                return;
            }
        }
    }

    /// rate() and the like take a range, all else takes none: PROM012.
    void check_ranges() {
        if (expression_.text.find("::") != std::string::npos || has_subquery()) return;
        for (const Expression::Selector& one : expression_.selectors) {
            const std::string_view function = one.functions.empty()
                                                  ? std::string_view()
                                                  : std::string_view(one.functions.front());
            const bool wants = takes_range(function);
            if (wants == !one.range.empty() || function == "absent_over_time") continue;
            if (!wants && !function.empty() && !takes_instant(function)) continue;
            const std::string call = function.empty() ? "it" : std::string(function) + "()";
            report_
                .add("PROM012", one.mark,
                     wants ? call + " of '" + one.metric + "' without a range"
                           : "'" + one.metric + '[' + one.range + "]' is a range, and " +
                                 (function.empty() ? "nothing takes it" : call + " takes none"))
                .expected(wants ? one.metric + "[5m]"
                                : "a function of ranges around it: avg_over_time(" + one.metric +
                                      '[' + one.range + "])");
        }
    }

private:
    [[nodiscard]] bool has_subquery() const {
        const std::string& text = expression_.text;
        for (auto at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
            if (text.substr(at, text.find(']', at) - at).find(':') != std::string::npos)
                return true;
        }
        return false;
    }

    static bool is_range(std::string_view text) {
        constexpr std::string_view kUnits = "ywdhms";
        bool digits = false;
        for (const char c : text) {
            if (is_digit(c)) {
                digits = true;
            } else if (!digits || kUnits.find(c) == std::string_view::npos) {
                return false;
            }
        }
        return digits && !is_digit(text.back());
    }

    static bool takes_range(std::string_view function) {
        constexpr std::array<std::string_view, 11> kNames{"rate",
                                                          "irate",
                                                          "increase",
                                                          "delta",
                                                          "idelta",
                                                          "deriv",
                                                          "changes",
                                                          "resets",
                                                          "predict_linear",
                                                          "holt_winters",
                                                          "double_exponential_smoothing"};
        return function.ends_with("_over_time") ||
               std::find(kNames.begin(), kNames.end(), function) != kNames.end();
    }

    static bool takes_instant(std::string_view function) {
        constexpr std::array<std::string_view, 16> kNames{
            "sum",    "avg",  "min",   "max", "count", "topk",  "bottomk",   "stddev",
            "stdvar", "ceil", "floor", "abs", "round", "clamp", "clamp_max", "absent"};
        return std::find(kNames.begin(), kNames.end(), function) != kNames.end();
    }

    [[nodiscard]] std::string_view word_before(std::size_t end) const {
        const std::string_view text = expression_.text;
        while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\n')) --end;
        std::size_t begin = end;
        while (begin > 0 && is_word_byte(text[begin - 1])) --begin;
        return text.substr(begin, end - begin);
    }

    void check_word_before(std::size_t at) {
        static const std::vector<std::string_view> kWords = words_of_form("promql words");
        std::string_view word = word_before(at);
        if (word == "by" || word == "without")  // `averge by (gpu) (...)`
            word = word_before(static_cast<std::size_t>(word.data() - expression_.text.data()));
        if (word.size() < 3 || is_digit(word.front())) return;
        if (std::find(kWords.begin(), kWords.end(), lower(word)) != kWords.end()) return;
        // `average` is what people say.
        const std::string_view meant =
            nearest(word, {"average"}).empty() ? nearest(word, kWords) : "avg";
        if (meant.empty()) return;
        report_
            .add("PROM011", expression_.mark, "PromQL has no function '" + std::string(word) + '\'')
            .expected(std::string(meant));
    }

    void say(const std::string& what,
             const std::string& expected = "brackets and quotes in pairs") {
        report_.add("PROM011", expression_.mark, "the expression is no PromQL: " + what)
            .expected(expected);
    }

    const Expression& expression_;
    Report& report_;
    std::string open_;
};

}  // namespace

void check_expression_syntax(const File& file, Report& report) {
    if (file.is_prose()) return;
    for (const Expression& one : file.expressions) {
        if (one.source != Expression::Source::kRule) continue;
        if (one.text.find("{{") != std::string::npos || one.text.find('$') != std::string::npos ||
            one.text.find("__") != std::string::npos) {
            continue;  // of a template
        }
        SyntaxCheck check(one, report);
        check.check();
        check.check_ranges();
        check.check_words();
        check.check_matchers();
    }
}

}  // namespace aliquot::lint
