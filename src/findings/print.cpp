// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/columns.h"
#include "base/sentence.h"
#include "findings/finding.h"
#include "findings/rule.h"

namespace aliquot::findings {
namespace {

using Json = nlohmann::ordered_json;

std::string_view colour_of(Severity severity) {
    switch (severity) {
        case Severity::kError:
            return "\x1b[1;31m";
        case Severity::kWarning:
            return "\x1b[1;33m";
        case Severity::kInfo:
            return "\x1b[1;36m";
    }
    return "";
}

std::string without_controls(std::string_view line) {
    std::string safe;
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\t' || (byte >= 0x20U && byte != 0x7fU)) safe += c;
    }
    return safe;
}

void print_labelled(std::ostream& out, std::string_view label, std::string_view text) {
    if (text.empty()) return;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    out << "  " << label << ": ";
    const std::string indent(label.size() + 4, ' ');
    for (bool first = true;; first = false) {
        const auto end = text.find('\n');
        const std::string line = without_controls(text.substr(0, end));
        if (!first && !line.empty()) out << indent;
        out << line << '\n';
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

/// A block that fixes several findings is printed once.
std::string fix_text(std::span<const Finding> findings, const Finding& finding) {
    if (finding.fix.find('\n') == std::string::npos) return finding.fix;
    for (const Finding& earlier : findings) {
        if (&earlier == &finding) break;
        if (earlier.fix == finding.fix && earlier.file == finding.file &&
            earlier.line != finding.line) {
            return "as for line " + std::to_string(earlier.line);
        }
    }
    return finding.fix;
}

std::string place_of(const Finding& finding) {
    std::string place = one_line(finding.file);
    if (finding.line != 0) {
        place += ':' + std::to_string(finding.line) + ':' + std::to_string(finding.column);
    }
    return place;
}

}  // namespace

namespace {

void print_head(std::ostream& out, const Finding& finding, Colour colour) {
    out << place_of(finding) << ": ";
    if (colour == Colour::kAnsi) out << colour_of(finding.severity);
    out << to_text(finding.severity);
    if (colour == Colour::kAnsi) out << "\x1b[0m";
    out << ' ';
    if (colour == Colour::kAnsi) out << "\x1b[1m";
    out << finding.rule;
    if (colour == Colour::kAnsi) out << "\x1b[0m";
    out << ' ' << one_line(finding.message) << '\n';
}

/// The line of the file with a caret below the place.
void print_frame(std::ostream& out, const Finding& finding, std::string_view line) {
    constexpr std::size_t kWidest = 160;
    if (finding.line == 0 || line.empty() || finding.column > kWidest) return;
    const std::string number = std::to_string(finding.line);
    const std::string shown = one_line(line.substr(0, kWidest));
    out << "  " << number << " | " << shown << '\n';
    const std::size_t column = finding.column == 0 ? 0 : finding.column - 1;
    const std::size_t blanks = width_of(std::string_view(shown).substr(0, column));
    out << "  " << std::string(number.size(), ' ') << " | " << std::string(blanks, ' ') << "^\n";
}

}  // namespace

std::string_view why_of(const Finding& finding) {
    if (!finding.why.empty()) return finding.why;
    const Rule* rule = find_rule(finding.rule);
    return rule == nullptr ? std::string_view() : rule->why;
}

std::string_view doc_of(const Finding& finding) {
    if (!finding.doc.empty()) return finding.doc;
    const Rule* rule = find_rule(finding.rule);
    return rule == nullptr ? std::string_view() : rule->doc;
}

void print_text(std::ostream& out, std::span<const Finding> findings, Colour colour) {
    for (const Finding& finding : findings) {
        print_head(out, finding, colour);
        print_labelled(out, "expected", finding.expected);
        print_labelled(out, "fix", fix_text(findings, finding));
    }
}

void print_wide(std::ostream& out, std::span<const Finding> findings, Colour colour,
                const SourceLine& source) {
    for (const Finding& finding : findings) {
        if (&finding != findings.data()) out << '\n';
        print_head(out, finding, colour);
        if (source) print_frame(out, finding, source(finding.file, finding.line));
        print_labelled(out, "why", why_of(finding));
        print_labelled(out, "expected", finding.expected);
        print_labelled(out, "fix", fix_text(findings, finding));
        print_labelled(out, "see", doc_of(finding));
    }
}

Json to_json(std::span<const Finding> findings) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
        list.push_back({{"file", finding.file},
                        {"line", finding.line},
                        {"column", finding.column},
                        {"rule", finding.rule},
                        {"severity", to_text(finding.severity)},
                        {"message", finding.message},
                        {"expected", finding.expected},
                        {"why", why_of(finding)},
                        {"fix", finding.fix},
                        {"doc", doc_of(finding)}});
    }
    return {{"schemaVersion", 1}, {"findings", std::move(list)}};
}

void print_table(std::ostream& out, std::span<const Finding> findings) {
    std::vector<Row> rows{{"FILE", "LINE", "COLUMN", "SEVERITY", "RULE", "MESSAGE"}};
    for (const Finding& finding : findings) {
        rows.push_back({one_line(finding.file), std::to_string(finding.line),
                        std::to_string(finding.column), std::string(to_text(finding.severity)),
                        finding.rule, one_line(finding.message)});
    }
    out << in_columns(rows);
}

}  // namespace aliquot::findings
