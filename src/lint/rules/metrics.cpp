// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "catalog/dcgm_fields.h"
#include "lint/rules/metric_names.h"
#include "lint/words.h"

namespace aliquot::lint {

using findings::Severity;

bool is_said_nearby(const File& file, const Set& set, std::string_view lower) {
    if (file.mentions(lower)) {
        return true;
    }
    const auto near = set.neighbours(file);
    return std::any_of(near.begin(), near.end(), [&file, lower](const File* other) {
        return other != &file && other->mentions(lower);
    });
}

namespace {

/// "# HELP name", "record: name", "Gauge('name'": the name is made here.
bool is_made_in(const File& file, std::string_view name) {
    constexpr std::array<std::string_view, 9> kMakers{
        "# help ",  "# type ",   "record: ",      "gauge(", "newdesc(",
        "counter(", "gaugevec(", "metric_name: ", "as: "};
    const auto wanted = lower(name);
    if (!file.mentions(wanted)) {
        return false;
    }
    const std::string_view text = file.folded;
    for (auto at = text.find(wanted); at != std::string_view::npos;
         at = text.find(wanted, at + wanted.size())) {
        const auto before = text.substr(at > 40 ? at - 40 : 0, at > 40 ? 40 : at);
        for (const auto maker : kMakers) {
            if (const auto found = before.rfind(maker);
                found != std::string_view::npos &&
                before.substr(found + maker.size()).find_first_not_of(" \n\t'\"") ==
                    std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

bool is_made_nearby(const File& file, const Set& set, std::string_view name) {
    if (is_made_in(file, name)) {
        return true;
    }
    const auto near = set.neighbours(file);
    return std::any_of(near.begin(), near.end(), [&file, name](const File* other) {
        return other != &file && is_made_in(*other, name);
    });
}

/// An active line of a counters list: "DCGM_FI_X, gauge, ...".
bool is_enabled_in(const File& file, std::string_view name) {
    const std::string_view text = file.text;
    for (auto at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + name.size())) {
        const auto end = at + name.size();
        const auto line_begin = text.rfind('\n', at) + 1;
        const auto before = text.substr(line_begin, at - line_begin);
        if (end < text.size() && text[end] == ',' && before.find('#') == std::string_view::npos) {
            return true;
        }
    }
    return false;
}

bool is_enabled_nearby(const File& file, const Set& set, std::string_view name) {
    const auto near = set.surroundings(file);
    return is_enabled_in(file, name) ||
           std::any_of(near.begin(), near.end(), [&file, name](const File* other) {
               return other != &file && is_enabled_in(*other, name);
           });
}

bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The sentence is about the name, and says that it is wrong, or old, or what to write for it.
bool talks_about_it(std::string_view text) {
    constexpr std::array<std::string_view, 14> kWords{
        "not",     "nobody",         "no exporter", "deprecated", "instead",
        "renamed", "replaced",       "legacy",      "n't",        "old",
        "->",      "DCGM_FI_DEV_FB", "was ",        "nvidia_smi_"};
    return text.find("\xE2\x86\x92") != std::string_view::npos ||
           std::any_of(kWords.begin(), kWords.end(),
                       [text](std::string_view word) { return contains(text, word); });
}

/// A name in the form of DCGM's that DCGM does not have. "DCGM_FI_DEV_ECC_" stands for many, and
/// "DCGM_FI_DEV_GPU_UTIL_AVG" for one that somebody records.
/// `whole`: it is written as a name of its own, not as what many names begin with.
bool is_unknown_field(std::string_view name, bool whole) {
    if (!name.starts_with("DCGM_FI_DEV_") && !name.starts_with("DCGM_FI_PROF_")) return false;
    const bool other =
        std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (other || name.find("_XX") != std::string_view::npos || name.back() == '_' ||
        catalog::is_dcgm_field(name) || (!whole && catalog::begins_dcgm_field(name))) {
        return false;  // "..._total" is what OpenTelemetry makes of a counter
    }
    const auto last = name.rfind('_');
    constexpr std::array<std::string_view, 5> kRecorded{"AVG", "MIN", "MAX", "SUM", "MEAN"};
    const auto suffix = name.substr(last + 1);
    if (std::find(kRecorded.begin(), kRecorded.end(), suffix) != kRecorded.end() &&
        catalog::is_dcgm_field(name.substr(0, last))) {
        return false;
    }
    return find_metric(name) == nullptr;
}

/// Dashboards and rules of the exporter that had these names are right.
bool is_about_dcgm(const File& file) {
    return (file.mentions("dcgm") || file.mentions("gpu-operator") ||
            file.mentions("gpu operator")) &&
           !file.mentions("mindprince") && !file.mentions("nvidia_gpu_prometheus_exporter") &&
           !file.mentions("nvidia-gpu-prometheus-exporter") && !file.mentions("9445");
}

class Names {
public:
    Names(const File& file, const Set& set, Report& report)
        : file_(file),
          set_(set),
          report_(report),
          about_dcgm_(is_about_dcgm(file)),
          old_dcgm_(file.mentions("dcgm-exporter:1.") || file.mentions("gpu-monitoring-tools") ||
                    file.mentions("fake gpu") || file.mentions("fake-gpu")) {}

    void check(const std::string& name, Mark mark, bool whole = true) {
        if (const auto* wrong = find_wrong_metric(name)) {
            if (is_made(name) || (name.starts_with("dcgm_") && old_dcgm_)) {
                return;
            }
            auto entry = report_.add("PROM001", mark, "dcgm-exporter has no metric '" + name + "'");
            entry.expected(std::string(wrong->now) + " of dcgm-exporter")
                .fix(std::string(wrong->now));
            const auto offset = file_.offset(mark);
            if (wrong->dcgm && wrong->now.find(' ') == std::string_view::npos &&
                file_.text.compare(offset, name.size(), name) == 0) {
                entry.edit(offset, name.size(), std::string(wrong->now));
            }
            return;
        }
        if (is_unknown_field(name, whole)) {
            if (is_made(name)) return;
            report_.add("PROM001", mark, "DCGM has no field '" + name + "'")
                .expected("a field that `dcgmi dmon -l` names");
            return;
        }
        const auto* old = find_old_metric(name);
        if (old != nullptr && about_dcgm_ && !is_made(name)) {
            report_
                .add("PROM001", mark,
                     "'" + name +
                         "' comes from an exporter that has had no release since 2018, not "
                         "from dcgm-exporter")
                .severity(Severity::kWarning)
                .expected(std::string(old->now))
                .fix(std::string(old->now));
        }
    }

private:
    bool is_made(const std::string& name) {
        const auto [known, added] = made_.try_emplace(name, false);
        if (added) known->second = is_made_nearby(file_, set_, name);
        return known->second;
    }

    const File& file_;
    const Set& set_;
    Report& report_;
    std::map<std::string, bool, std::less<>> made_;
    bool about_dcgm_;
    bool old_dcgm_;
};

bool may_be_metric(std::string_view word) {
    return word.starts_with("nvidia_") || word.starts_with("DCGM_FI_") ||
           word.starts_with("dcgm_") || word.starts_with("node_nvidia_");
}

/// Calls `visit` with every word of letters, digits and '_', and its offset.
template <class Visit>
void each_name(std::string_view text, const Visit& visit) {
    for (std::size_t at = 0; at < text.size();) {
        if (!is_name_byte(text[at])) {
            ++at;
            continue;
        }
        auto end = at;
        while (end < text.size() && is_name_byte(text[end])) ++end;
        visit(text.substr(at, end - at), at);
        at = end;
    }
}

/// `curl .../query?query=dcgm_gpu_utilization`, `... | grep nvidia_gpu_util`, and samples that stand
/// in a block of commands.
void check_command_names(const File& file, Names& names) {
    if (!file.mentions("nvidia_") && !file.mentions("dcgm_")) return;
    for (const Command& command : file.commands) {
        const bool asks = command.is("curl") || command.is("wget") || command.is("grep") ||
                          command.is("promtool");
        if (!asks && !may_be_metric(command.program)) continue;
        for (const Word& word : command.words) {
            each_name(word.text, [&names, &word](std::string_view name, std::size_t) {
                if (may_be_metric(name)) names.check(std::string(name), word.mark, false);
            });
            if (!asks) break;
        }
    }
}

/// "DCGM_FI_X, gauge, ..." of a list of counters: the exporter stops at a field that DCGM does not have.
void check_counter_names(const File& file, Names& names) {
    constexpr std::string_view kBegin = "DCGM_FI_";
    const std::string_view text = file.text;
    for (auto at = text.find(kBegin); at != std::string_view::npos;
         at = text.find(kBegin, at + kBegin.size())) {
        const auto line = text.rfind('\n', at) + 1;
        if (!trim(text.substr(line, at - line)).empty()) continue;
        auto end = at;
        while (end < text.size() && is_name_byte(text[end])) ++end;
        const auto behind = text.find_first_not_of(' ', end);
        if (behind == std::string_view::npos || text[behind] != ',') continue;
        const auto kind = trim(text.substr(behind + 1, 12));
        if (!kind.starts_with("gauge") && !kind.starts_with("counter") &&
            !kind.starts_with("label") && !kind.starts_with("histogram")) {
            continue;
        }
        names.check(std::string(text.substr(at, end - at)), file.mark(at));
    }
}

void check_statement_names(const File& file, Names& names) {
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        if ((text.find("nvidia_") == std::string_view::npos &&
             text.find("DCGM_FI_") == std::string_view::npos &&
             text.find("dcgm_") == std::string_view::npos) ||
            talks_about_it(text)) {
            continue;
        }
        each_name(text, [&file, &names, &statement](std::string_view word, std::size_t) {
            if (!may_be_metric(word)) return;
            // Marks of formatting may have been left out of the text: look in the line.
            const auto column = file.line(statement.mark.line).find(word);
            const auto line = file.line(statement.mark.line);
            const bool quoted = column != std::string_view::npos && column > 0 &&
                                line[column - 1] == '`' &&
                                line.substr(column + word.size(), 1) == "`";
            names.check(std::string(word),
                        column == std::string_view::npos
                            ? statement.mark
                            : Mark{statement.mark.line, static_cast<unsigned>(column + 1)},
                        quoted);
        });
    }
}

/// "`DCGM_FI_DEV_FB_USED` | memory in use (bytes)".
void check_told_units(const File& file, Report& report) {
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        const auto at = text.find("DCGM_FI_");
        if (at == std::string_view::npos || text.find("DCGM_FI_", at + 1) != std::string_view::npos)
            continue;
        auto end = at;
        while (end < text.size() && is_name_byte(text[end])) ++end;
        const auto* metric = find_metric(text.substr(at, end - at));
        if (metric == nullptr || metric->unit != MetricUnit::kMebibytes) continue;
        if (!contains(text, "(bytes)") && !contains(text, "in bytes")) continue;
        if (contains(text, "mib") || contains(text, "1024") || contains(text, "not")) continue;
        report
            .add("PROM002", statement.mark,
                 std::string(metric->name) + " is in MiB, and the text says bytes")
            .expected("MiB");
    }
}

}  // namespace

void check_metric_names(const File& file, const Set& set, Report& report) {
    Names names(file, set, report);
    std::map<std::string_view, bool> enabled;
    for (const auto& expression : file.expressions) {
        std::set<std::string_view> told;  // once in an expression: each is fixed for itself
        for (const auto& selector : expression.selectors) {
            names.check(selector.metric, selector.mark);
            const auto* metric = find_metric(selector.metric);
            if (metric == nullptr || metric->by_default) continue;
            const auto [known, added] = enabled.try_emplace(metric->name, false);
            if (added) known->second = is_enabled_nearby(file, set, metric->name);
            if (!known->second && told.insert(metric->name).second) {
                report
                    .add("PROM006", selector.mark,
                         "'" + selector.metric + "' is not in the default list of dcgm-exporter")
                    .fix(selector.metric + (metric->counter ? ", counter, ..." : ", gauge, ..."));
            }
        }
    }
    check_statement_names(file, names);
    check_command_names(file, names);
    if (file.mentions("dcgm_fi_")) check_counter_names(file, names);
    if (file.mentions("bytes")) check_told_units(file, report);
}

void check_metrics(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    if (!file.mentions("gpu") && !file.mentions("dcgm")) {
        return;
    }
    check_metric_names(file, set, report);
    check_metric_labels(file, set, report);
    for (const auto& expression : file.expressions) {
        check_metric_units(expression, report);
        check_metric_functions(expression, report);
    }
    check_expression_syntax(file, report);
    check_scraping(file, report);
}

}  // namespace aliquot::lint
