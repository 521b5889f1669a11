// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/colour.h"

namespace aliquot::findings {

enum class Severity : std::uint8_t { kError, kWarning, kInfo };
std::string_view to_text(Severity severity);

/// Bytes of the file that `--fix` would replace.
struct Edit {
    std::size_t offset = 0;
    std::size_t length = 0;
    std::string replacement;
    friend bool operator==(const Edit&, const Edit&) = default;
};

/// One thing that is wrong or could be better, at one place of one file. The shape every command
/// that checks something prints (config check, lint, doctor).
struct Finding {
    std::string file;     // as the user named it; "<stdin>"
    unsigned line = 0;    // from 1; 0: the file as a whole
    unsigned column = 0;  // from 1, in bytes
    std::string rule;     // "DPC003"; stable
    Severity severity = Severity::kError;
    std::string message;   // what was found, with the value: "'replicas' is not a key of
                           // sharing.timeSlicing"
    std::string expected;  // what may stand there; may be empty
    std::string fix;       // the fixed form, ready to paste; may have several lines; may be empty
    std::string why;       // why it matters; empty: what the catalogue says of the rule
    std::string doc;       // where it is explained; empty: likewise
    std::vector<Edit> edits;  // a mechanical fix: all of them, or none

    friend bool operator==(const Finding&, const Finding&) = default;
};

/// Sorted by file, line, column, then as found; no duplicates.
void sort(std::vector<Finding>& findings);

[[nodiscard]] bool has_errors(std::span<const Finding> findings);

/// Compiler style, one finding after another:
///   file:line:column: error DPC003 message
///     expected: ...
///     fix: ...            (further lines of a fix are indented alike; a block that fixes several
///                         findings is printed once, then "as for line N")
/// colour   ANSI colours for severity and rule
void print_text(std::ostream& out, std::span<const Finding> findings, Colour colour);

/// Like print_text(), with the line itself, why it matters and where that is explained.
/// source   the line of a file, from 1; empty when it is not known
using SourceLine = std::function<std::string_view(std::string_view file, unsigned line)>;
void print_wide(std::ostream& out, std::span<const Finding> findings, Colour colour,
                const SourceLine& source);

/// {"schemaVersion":1,"findings":[{"file","line","column","rule","severity","message","expected",
/// "why","fix","doc"}]}. The version grows when a key changes its meaning or goes.
nlohmann::ordered_json to_json(std::span<const Finding> findings);

/// SARIF 2.1.0: every rule that was found with its help, results with partialFingerprints (they outlive a
/// shift of lines) and, where the fix is mechanical, fixes.
void print_sarif(std::ostream& out, std::span<const Finding> findings, const SourceLine& source);

/// Commands of GitHub Actions: ::error file=...,line=...,title=RULE::message
void print_github(std::ostream& out, std::span<const Finding> findings);

/// One test case for each file that was looked at, failed where there are errors or warnings.
void print_junit(std::ostream& out, std::span<const Finding> findings,
                 std::span<const std::string> files);

/// The catalogue itself: columns ID TOOL SEVERITY WHAT, or
/// {"schemaVersion":1,"rules":[{"id","tool","severity","what","why","fix","doc"}]}.
/// tool   "lint", "doctor", or empty for both
void print_rules_table(std::ostream& out, std::string_view tool);
nlohmann::ordered_json rules_json(std::string_view tool);
/// One rule of that list.
struct Rule;
nlohmann::ordered_json to_json(const Rule& rule);

/// What tells a finding from others in the same file, whatever its line: for baselines and SARIF.
std::string fingerprint(const Finding& finding, std::string_view source_line);

/// Columns FILE LINE COLUMN SEVERITY RULE MESSAGE, widths fitted.
void print_table(std::ostream& out, std::span<const Finding> findings);

}  // namespace aliquot::findings
