// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <ostream>
#include <string>

#include "base/text.h"
#include "doctor/tally.h"
#include "doctor/text.h"
#include "document/json.h"
#include "findings/xml.h"

namespace aliquot::doctor {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::Value;

std::string_view mark_of(Outcome outcome, bool unicode) {
    constexpr std::array<std::string_view, 5> kPlain{"[ok]", "[!!]", "[xx]", "[--]", "[??]"};
    constexpr std::array<std::string_view, 5> kFine{"√", "‼", "×", "-", "?"};
    const auto at = static_cast<std::size_t>(outcome);
    return unicode ? kFine.at(at) : kPlain.at(at);
}

std::string_view colour_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::kOk:
            return "\x1b[32m";
        case Outcome::kWarning:
            return "\x1b[1;33m";
        case Outcome::kFailed:
            return "\x1b[1;31m";
        default:
            return "\x1b[2m";
    }
}

/// Keeps a terminal and a line whole, whatever was read.
std::string line_of(std::string_view text) { return clip(text, 2000); }

std::string place_text(const Evidence& evidence) {
    return evidence.path + (evidence.line == 0 ? "" : ":" + std::to_string(evidence.line));
}

class TextPrinter {
public:
    TextPrinter(std::ostream& out, const Report& report, const PrintOptions& options)
        : out_(out), report_(report), options_(options) {}

    void run() {
        if (!report_.title.empty()) out_ << line_of(report_.title) << "\n";
        chain();
        root_cause();
        if (report_.of_speed && report_.root_causes.empty())
            out_ << "\nNothing that was measured holds it back.\n";
        for (unsigned level = 0; level < kLevels; ++level) category(static_cast<Level>(level));
        if (report_.of_speed && !options_.verbose) not_known();
        summary();
    }

private:
    /// "hardware ok > kernel driver FAILED > user libraries ..."
    void chain() {
        std::string_view between = "\n";
        for (unsigned number = 0; number < kLevels; ++number) {
            const auto level = static_cast<Level>(number);
            const Tally all = tally(report_, level);
            if (all.judged() + all.blocked == 0) continue;
            out_ << between << to_text(level) << ' ';
            between = " > ";
            if (all.failed > 0) {
                paint(Outcome::kFailed, "FAILED");
            } else if (all.bad > 0) {
                paint(Outcome::kWarning, "warning");
            } else if (all.ok > 0) {
                paint(Outcome::kOk, "ok");
            } else {
                paint(Outcome::kSkipped, all.blocked > 0 ? "not judged" : "unknown");
            }
        }
        if (between == " > ") out_ << '\n';
    }

    void category(Level level) {
        const Tally all = tally(report_, level);
        const bool shown =
            options_.verbose ? all.judged() + all.blocked + all.beside > 0 : all.bad > 0;
        if (!shown) return;
        out_ << '\n' << to_text(level) << '\n';
        for (const Judged& one : report_.checks) {
            if (one.level != level || one.verdict.outcome == Outcome::kSkipped) continue;
            if (options_.verbose || is_bad(one)) check(one);
        }
        if (!options_.verbose) return;
        if (all.blocked > 0) {
            note(std::to_string(all.blocked) + (all.blocked == 1 ? " check" : " checks") +
                 " not run: " + all.blocker + " failed");
        }
        if (all.beside > 0 && all.judged() + all.blocked == 0) {
            note(std::to_string(all.beside) + (all.beside == 1 ? " check" : " checks") +
                 " without an occasion here");
        }
    }

    /// What of the speed could not be told, each reason once.
    void not_known() {
        std::map<std::string, std::string> ids;  // reason -> "PERF005, PERF006"
        for (const Judged& one : report_.checks) {
            if (one.level != Level::kRun || one.verdict.outcome != Outcome::kUnknown) continue;
            std::string& list = ids[one.verdict.message];
            list += (list.empty() ? "" : ", ") + one.id;
        }
        if (ids.empty()) return;
        out_ << "\nnot known\n";
        for (const auto& [reason, list] : ids) {
            out_ << "  ";
            paint(Outcome::kUnknown, mark_of(Outcome::kUnknown, options_.unicode));
            out_ << ' ' << list << "  " << line_of(reason) << '\n';
        }
    }

    void note(const std::string& text) {
        out_ << "  ";
        paint(Outcome::kSkipped, mark_of(Outcome::kSkipped, options_.unicode));
        out_ << "  " << text << '\n';
    }

    void paint(Outcome outcome, std::string_view text) {
        if (options_.colour == Colour::kAnsi) out_ << colour_of(outcome);
        out_ << text;
        if (options_.colour == Colour::kAnsi) out_ << "\x1b[0m";
    }

    void check(const Judged& one) {
        out_ << "  ";
        paint(one.verdict.outcome, mark_of(one.verdict.outcome, options_.unicode));
        out_ << ' ' << one.id << std::string(one.id.size() < 8 ? 8 - one.id.size() : 1, ' ')
             << line_of(one.verdict.message) << '\n';
        if (!is_bad(one)) return;
        for (const Evidence& evidence : one.verdict.evidence) {
            out_ << "           read      " << line_of(place_text(evidence));
            if (!evidence.value.empty()) out_ << "   " << line_of(evidence.value);
            out_ << '\n';
            if (!evidence.expected.empty()) {
                out_ << "           expected  " << line_of(evidence.expected) << '\n';
            }
        }
        if (one.verdict.confidence != Confidence::kCertain) {
            out_ << "           this is "
                 << (one.verdict.confidence == Confidence::kLikely ? "likely, not certain"
                                                                   : "a guess")
                 << '\n';
        }
    }

    /// A command keeps its blanks: it is to be copied.
    void lines(std::string_view head, std::string_view text) {
        for_each_line(text, [&](std::string_view line, unsigned number) {
            const auto blanks = std::min(line.find_first_not_of(' '), line.size());
            out_ << (number == 1 ? head : "      ") << line.substr(0, blanks) << line_of(line)
                 << '\n';
        });
    }

    void fixes(const Judged& one) {
        bool first = true;
        for (const Fix& fix : one.verdict.fixes) {
            if (fix.kind == Fix::Kind::kNote) continue;
            lines(first ? "Fix:  " : " or   ", fix.text);
            first = false;
        }
        for (const Fix& fix : one.verdict.fixes) {
            if (fix.kind == Fix::Kind::kNote) lines(first ? "Fix:  " : "      ", fix.text);
        }
    }

    void root_cause() {
        for (const std::string& id : report_.root_causes) {
            const Judged* const one = report_.find(id);
            if (one == nullptr) continue;
            headline(*one, id == report_.root_causes.front() ? "Root cause: " : "Also:       ");
        }
        const Judged* const one = report_.of_speed ? nullptr : report_.first_warning();
        if (one != nullptr) headline(*one, "Nothing failed; look first at ");
    }

    void headline(const Judged& one, const char* begin) {
        out_ << '\n';
        paint(one.verdict.outcome, begin);
        out_ << one.id << ". " << line_of(one.verdict.message) << '\n';
        fixes(one);
        out_ << "Docs: docs/rules/doctor.md#" << lower(one.id) << "   (aliquot doctor --explain "
             << one.id << ")\n";
    }

    void summary() {
        out_ << '\n';
        const std::array<std::pair<Outcome, const char*>, 5> words{
            {{Outcome::kFailed, "failed"},
             {Outcome::kWarning, "warning"},
             {Outcome::kOk, "ok"},
             {Outcome::kSkipped, "not run"},
             {Outcome::kUnknown, "unknown"}}};
        bool first = true;
        for (const auto& [outcome, word] : words) {
            const unsigned count = report_.count(outcome);
            if (count == 0 && outcome != Outcome::kFailed) continue;
            out_ << (first ? "" : ", ") << count << ' ' << word;
            if (outcome == Outcome::kWarning && count > 1) out_ << 's';
            first = false;
        }
        if (options_.seconds >= 0) {
            std::array<char, 32> text{};
            std::snprintf(text.data(), text.size(), "  (%.1f s)", options_.seconds);
            out_ << text.data();
        }
        if (!options_.verbose) out_ << "; -v shows every check";
        out_ << '\n';
    }

    std::ostream& out_;
    const Report& report_;
    const PrintOptions& options_;
};

Value node_of(const Evidence& evidence) {
    return make_mapping({{"source", to_text(source_of(evidence.path))},
                         {"path", evidence.path},
                         {"line", evidence.line},
                         {"value", evidence.value},
                         {"expected", evidence.expected}});
}

Value node_of(const Fix& fix) {
    return make_mapping(
        {{"kind", to_text(fix.kind)}, {"risk", to_text(fix.risk)}, {"text", fix.text}});
}

Value node_of(const Judged& one) {
    const auto node = [](const auto& part) { return node_of(part); };
    Value blocked_by = make_sequence();
    if (!one.blocked_by.empty()) blocked_by.items.push_back(document::make_string(one.blocked_by));
    return make_mapping({{"id", one.id},
                         {"severity", one.severity},
                         {"result", to_text(one.verdict.outcome)},
                         {"confidence", to_text(one.verdict.confidence)},
                         {"message", one.verdict.message},
                         {"evidence", make_sequence(one.verdict.evidence, node)},
                         {"fix", make_sequence(one.verdict.fixes, node)},
                         {"blockedBy", std::move(blocked_by)},
                         {"doc", "docs/rules/doctor.md#" + lower(one.id)}});
}

std::string xml(std::string_view text) { return findings::xml_escaped(clip(text, 4000)); }

}  // namespace

void print_text(std::ostream& out, const Report& report, const PrintOptions& options) {
    TextPrinter(out, report, options).run();
}

void print_short(std::ostream& out, const Report& report) {
    for (const Judged& one : report.checks) {
        if (!is_bad(one)) continue;
        out << one.id << ' ' << to_text(one.verdict.outcome) << "  " << line_of(one.verdict.message)
            << '\n';
    }
    if (report.root_causes.empty()) return;
    out << "root cause: " << join(report.root_causes) << '\n';
}

Value to_value(const Report& report) {
    Value summary = make_mapping();
    for (const Outcome outcome : {Outcome::kOk, Outcome::kWarning, Outcome::kFailed,
                                  Outcome::kSkipped, Outcome::kUnknown}) {
        append(summary, std::string(to_text(outcome)), report.count(outcome));
    }
    Value categories = make_sequence();
    for (unsigned number = 0; number < kLevels; ++number) {
        const auto level = static_cast<Level>(number);
        Value checks = make_sequence();
        for (const Judged& one : report.checks) {
            if (one.level == level) checks.items.push_back(node_of(one));
        }
        if (checks.items.empty()) continue;
        categories.items.push_back(
            make_mapping({{"name", to_text(level)}, {"checks", std::move(checks)}}));
    }
    return make_mapping({{"schemaVersion", "1"},
                         {"success", report.success()},
                         {"target", make_mapping({{"kind", to_text(report.target.kind)},
                                                  {"name", report.target.name}})},
                         {"summary", std::move(summary)},
                         {"rootCauses", report.root_causes},
                         {"categories", std::move(categories)}});
}

void print_junit(std::ostream& out, const Report& report) {
    const auto skipped = report.count(Outcome::kSkipped) + report.count(Outcome::kUnknown);
    out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"aliquot "
           "doctor "
        << xml(to_text(report.target.kind)) << ' ' << xml(report.target.name) << "\" tests=\""
        << report.checks.size() << "\" failures=\"" << report.count(Outcome::kFailed)
        << "\" skipped=\"" << skipped << "\">\n";
    for (const Judged& one : report.checks) {
        out << "<testcase classname=\"" << xml(to_text(one.level)) << "\" name=\"" << xml(one.id)
            << '"';
        std::string detail;
        for (const Evidence& evidence : one.verdict.evidence) {
            detail += place_text(evidence) + ": " + evidence.value + "; ";
        }
        switch (one.verdict.outcome) {
            case Outcome::kFailed:
                out << "><failure message=\"" << xml(one.verdict.message) << "\">" << xml(detail)
                    << "</failure></testcase>\n";
                break;
            case Outcome::kSkipped:
            case Outcome::kUnknown:
                out << "><skipped message=\"" << xml(one.verdict.message) << "\"/></testcase>\n";
                break;
            case Outcome::kWarning:
                out << "><system-out>warning: " << xml(one.verdict.message)
                    << "</system-out></testcase>\n";
                break;
            case Outcome::kOk:
                out << "/>\n";
        }
    }
    out << "</testsuite>\n</testsuites>\n";
}

}  // namespace aliquot::doctor
