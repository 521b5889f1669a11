// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::findings {

enum class Severity : std::uint8_t { kError, kWarning, kInfo };
std::string_view to_text(Severity severity);

/// One thing that is wrong or could be better, at one place of one file. The shape every command
/// that checks something prints (config check, later lint and doctor).
struct Finding {
    std::string file;     // as the user named it; "<stdin>"
    unsigned line = 0;    // from 1; 0: the file as a whole
    unsigned column = 0;  // from 1, in bytes
    std::string rule;     // "DPC003"; stable
    Severity severity = Severity::kError;
    std::string message;   // what was found, with the value: "'replicas' is not a key of
                           // sharing.timeSlicing"
    std::string expected;  // what may stand there; may be empty
    std::string fix;       // the mended form, ready to paste; may have several lines; may be empty

    friend bool operator==(const Finding&, const Finding&) = default;
};

/// Sorted by file, line, column, then as found; no duplicates.
void sort(std::vector<Finding>& findings);

[[nodiscard]] bool has_errors(std::span<const Finding> findings);

/// Compiler style, one finding after another:
///   file:line:column: error DPC003 message
///     expected: ...
///     fix: ...            (further lines of a fix are indented alike; a block that mends several
///                         findings is printed once, then "as for line N")
/// colour   ANSI colours for severity and rule
void print_text(std::ostream& out, std::span<const Finding> findings, bool colour);

/// {"findings":[{"file","line","column","rule","severity","message","expected","fix"}]} and a
/// newline.
void print_json(std::ostream& out, std::span<const Finding> findings);
void print_yaml(std::ostream& out, std::span<const Finding> findings);

/// Columns FILE LINE COLUMN SEVERITY RULE MESSAGE, widths fitted.
void print_table(std::ostream& out, std::span<const Finding> findings);

}  // namespace aliquot::findings
