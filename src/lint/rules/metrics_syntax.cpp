// SPDX-License-Identifier: Apache-2.0
// Expressions of rules that Prometheus does not read: PROM011.
#include <algorithm>
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

private:
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

    void say(const std::string& what) {
        report_.add("PROM011", expression_.mark, "the expression is no PromQL: " + what)
            .expected("brackets and quotes in pairs");
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
        SyntaxCheck(one, report).check();
    }
}

}  // namespace aliquot::lint
