// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "lint/rules/metric_names.h"
#include "lint/rules/metrics.h"
#include "lint/words.h"

/// PROM002, PROM007, PROM008: units and kinds of values.
namespace aliquot::lint {

namespace {

/// What is done with a metric behind it: "* 1024 * 1024 > 8e9".
struct Use {
    double factor = 1;
    bool scaled = false;        // some number was multiplied or divided with
    bool with_another = false;  // another metric or expression stands in the sum
    std::string comparison;     // ">" and so on; "" when none follows
    std::optional<double> threshold;
};

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// From the end of the metric's name on.
    Use read(std::size_t at) {
        at_ = at;
        Use use;
        skip_selector();
        for (int steps = 0; steps < 20; ++steps) {
            skip_blanks();
            const char c = peek();
            if (c == ')') {
                ++at_;
                skip_grouping();
            } else if (c == '*' || c == '/') {
                ++at_;
                const auto value = number();
                if (!value || *value == 0) {
                    use.with_another = true;
                    return use;
                }
                use.factor = c == '*' ? use.factor * *value : use.factor / *value;
                use.scaled = true;
            } else if (c == '>' || c == '<' || c == '=') {
                while (peek() == '>' || peek() == '<' || peek() == '=') {
                    use.comparison += text_[at_++];
                }
                use.threshold = number();
                while (use.threshold && next_is('*')) {  // 70 * 1024 * 1024 * 1024
                    ++at_;
                    const auto more = number();
                    use.threshold =
                        more ? std::optional<double>(*use.threshold * *more) : std::nullopt;
                }
                return use;
            } else {
                use.with_another = c != '\0' && c != ',' && c != '\n';
                return use;
            }
        }
        return use;
    }

private:
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
            ++at_;
        }
    }
    bool next_is(char c) {
        skip_blanks();
        return peek() == c;
    }
    void skip_pair(char open, char close) {
        if (peek() == open) {
            const auto end = text_.find(close, at_);
            at_ = end == std::string_view::npos ? text_.size() : end + 1;
        }
    }
    void skip_selector() {
        skip_blanks();
        skip_pair('{', '}');
        skip_blanks();
        skip_pair('[', ']');
    }
    void skip_grouping() {
        skip_blanks();
        for (const std::string_view word : {"by", "without"}) {
            if (text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                skip_blanks();
                skip_pair('(', ')');
            }
        }
    }
    /// A number, or numbers in parentheses: (1024 * 1024).
    std::optional<double> number() {
        skip_blanks();
        const bool group = peek() == '(';
        if (group) {
            ++at_;
            skip_blanks();
        }
        auto value = plain_number();
        while (group && value) {
            skip_blanks();
            const char c = peek();
            if (c == ')') {
                ++at_;
                break;
            }
            if (c != '*') {
                return std::nullopt;
            }
            ++at_;
            skip_blanks();
            const auto next = plain_number();
            value = next ? std::optional<double>(*value * *next) : std::nullopt;
        }
        return value;
    }
    std::optional<double> plain_number() {
        const auto value = next_number();
        if (!value || peek() != '^') return value;
        ++at_;  // 1024^3
        const auto power = next_number();
        if (!power || *power < 0 || *power > 10) return std::nullopt;
        return std::pow(*value, std::floor(*power));
    }
    std::optional<double> next_number() {
        std::string_view left = text_.substr(std::min(at_, text_.size()));
        const auto value = take_number<double>(left);
        at_ = text_.size() - left.size();
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Where the metric stands in the expression, as a whole word, behind `from`.
std::size_t find_metric_in(std::string_view text, std::string_view name, std::size_t from) {
    const auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    for (auto at = text.find(name, from); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
        const auto end = at + name.size();
        if ((at == 0 || !is_name(text[at - 1])) && (end >= text.size() || !is_name(text[end]))) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// No GPU has 400,000 MiB; a sum over many may.
double largest_memory(const Expression& expression) {
    return expression.text.find("sum") == std::string::npos ? 4e5 : 1e6;
}

void check_threshold(const Expression& expression, const Metric& metric, const Use& use, Mark mark,
                     Report& report) {
    const std::string name{metric.name};
    const double threshold = use.threshold.value_or(0);
    if (metric.unit == MetricUnit::kMebibytes) {
        if (use.scaled && use.factor < 1.1e-6) {
            report.add("PROM002", mark, name + " is in MiB already, and is divided as if in bytes")
                .fix(name + " / 1024 for GiB");
        } else if (!use.scaled && !use.with_another && use.threshold &&
                   threshold >= largest_memory(expression)) {
            report.add("PROM002", mark,
                       name + " is in MiB, and is compared with a number of bytes");
        }
    } else if (metric.unit == MetricUnit::kPercent) {
        if (use.scaled && use.factor > 99 && use.factor < 101) {
            report.add("PROM002", mark, name + " is 0 to 100 already, and is multiplied by 100");
        } else if (!use.scaled && !use.with_another && use.threshold && threshold > 0 &&
                   threshold < 1) {
            report.add("PROM002", mark,
                       name + " is 0 to 100, and is compared with a number below 1");
        }
    } else if (metric.unit == MetricUnit::kRatio) {
        if (!use.scaled && !use.with_another && use.threshold && threshold > 1) {
            report.add("PROM002", mark, name + " is 0 to 1, and is compared with a number above 1")
                .fix(name + " * 100");
        }
    }
}

bool is_bytes_unit(std::string_view unit) {
    return unit == "bytes" || unit == "decbytes" || unit == "kbytes" || unit == "gbytes" ||
           unit == "decgbytes";
}

/// The name of a recording rule, or the unit of a panel, against the unit of the field.
void check_declared_unit(const Expression& expression, const Metric& metric, const Use& use,
                         Mark mark, Report& report) {
    if (use.scaled || use.with_another || expression.selectors.size() != 1) {
        return;
    }
    const std::string name{metric.name};
    const auto record = std::string_view(expression.record);
    const auto unit = std::string_view(expression.unit);
    const auto say = [&report, mark](const std::string& text) {
        report.add("PROM002", mark, text);
    };
    if (record.ends_with("_bytes") && metric.unit == MetricUnit::kMebibytes) {
        say(name + " is in MiB, and the record is called " + expression.record);
    } else if (record.ends_with("_bytes") && metric.unit == MetricUnit::kPercent) {
        say(name + " is a percentage of time, and the record is called " + expression.record);
    } else if (record.ends_with("_hertz") && metric.unit == MetricUnit::kMegahertz) {
        say(name + " is in MHz, and the record is called " + expression.record);
    } else if (record.ends_with("_joules") && metric.unit == MetricUnit::kMillijoules) {
        say(name + " is in mJ, and the record is called " + expression.record);
    } else if (record.ends_with("_ratio") && metric.unit == MetricUnit::kPercent) {
        say(name + " is 0 to 100, and the record is called " + expression.record);
    } else if (is_bytes_unit(unit) && metric.unit == MetricUnit::kMebibytes) {
        say(name + " is in MiB, and the panel shows it as '" + expression.unit + "'");
    } else if (unit == "percentunit" && metric.unit == MetricUnit::kPercent) {
        say(name + " is 0 to 100, and the panel shows it as 'percentunit', which is 0 to 1");
    } else if (unit == "percent" && metric.unit == MetricUnit::kRatio) {
        say(name + " is 0 to 1, and the panel shows it as 'percent', which is 0 to 100");
    } else if ((unit == "hertz" || unit == "rothz") && metric.unit == MetricUnit::kMegahertz) {
        say(name + " is in MHz, and the panel shows it as '" + expression.unit + "'");
    } else if (unit == "joule" && metric.unit == MetricUnit::kMillijoules) {
        say(name + " is in mJ, and the panel shows it as 'joule'");
    }
}

/// FB_USED / FB_FREE: the part of the whole has used + free below the line.
bool divides_used_by_free(std::string_view text, std::size_t behind_used) {
    auto rest = text.substr(behind_used);
    if (rest.starts_with("{")) {
        const auto end = rest.find('}');
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    const auto slash = rest.find_first_not_of(" \n)");
    if (slash == std::string_view::npos || rest[slash] != '/') {
        return false;
    }
    const auto next = rest.find_first_not_of(" \n", slash + 1);
    return next != std::string_view::npos && rest.substr(next).starts_with("DCGM_FI_DEV_FB_FREE");
}

}  // namespace

void check_metric_units(const Expression& expression, Report& report) {
    std::size_t from = 0;
    for (const auto& selector : expression.selectors) {
        const auto* metric = find_metric(selector.metric);
        if (metric == nullptr) {
            continue;
        }
        const auto at = find_metric_in(expression.text, selector.metric, from);
        if (at == std::string_view::npos) {
            continue;
        }
        from = at + selector.metric.size();
        const auto& functions = selector.functions;
        const bool counts = std::any_of(functions.begin(), functions.end(), [](const auto& name) {
            return name == "count" || name == "changes" || name == "count_values" ||
                   name == "rate" || name == "increase" || name == "irate" ||
                   name.find("stddev") != std::string::npos || name == "deriv";
        });
        if (counts) {
            continue;
        }
        if (metric->name == "DCGM_FI_DEV_FB_USED" && divides_used_by_free(expression.text, from)) {
            report
                .add("PROM002", selector.mark,
                     "used / free is not part of the whole: it passes 1 when half of the memory is "
                     "in use")
                .fix("DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)");
            continue;
        }
        const auto use = Reader(expression.text).read(from);
        // In the sum of several metrics an operator belongs to one of them or to all.
        if (expression.text.substr(0, at).find_first_of("/+*") != std::string::npos) {
            continue;
        }
        check_threshold(expression, *metric, use, selector.mark, report);
        check_declared_unit(expression, *metric, use, selector.mark, report);
    }
}

void check_metric_functions(const Expression& expression, Report& report) {
    for (const auto& selector : expression.selectors) {
        const auto* metric = find_metric(selector.metric);
        if (metric == nullptr) {
            continue;
        }
        const std::string function =
            selector.functions.empty() ? std::string{} : selector.functions.front();
        const bool is_rate = function == "rate" || function == "irate" || function == "increase";
        if (is_rate && !metric->counter) {
            const bool is_xid = metric->name == "DCGM_FI_DEV_XID_ERRORS";
            report
                .add("PROM007", selector.mark,
                     function + "() of " + selector.metric + ", which is a gauge" +
                         (is_xid ? ": the number of the last error" : ""))
                .fix(is_xid ? "changes(" + selector.metric + "[10m]) > 0"
                            : "avg_over_time(" + selector.metric + "[5m])");
            continue;
        }
        if (expression.alert.empty()) {
            continue;
        }
        if (metric->name == "DCGM_FI_DEV_XID_ERRORS" && selector.functions.empty() &&
            selector.range.empty()) {
            report
                .add("PROM008", selector.mark,
                     selector.metric +
                         " keeps the number of the last error forever, so the alert "
                         "never ends")
                .fix("changes(" + selector.metric + "[10m]) > 0");
        } else if (expression.duration.empty() && !metric->counter && selector.range.empty() &&
                   (metric->unit == MetricUnit::kPercent ||
                    metric->unit == MetricUnit::kMebibytes || metric->unit == MetricUnit::kRatio)) {
            report
                .add("PROM008", selector.mark,
                     "the alert '" + expression.alert + "' has no `for`: one sample fires it")
                .fix("for: 5m");
        }
    }
}

}  // namespace aliquot::lint
