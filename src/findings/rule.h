// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "findings/finding.h"

namespace aliquot::findings {

/// One entry of api/findings.yaml: a rule of lint or config check, or a check of doctor. The table is
/// made from that file at build time, so it costs nothing at start-up.
struct Rule {
    std::string_view id;                   // "DPC003", "DRV011"
    Severity severity = Severity::kError;  // of a finding unless the code has a reason for another
    std::string_view tool;                 // "lint" or "doctor"
    std::string_view what;                 // one line: what is caught
    std::string_view why;  // one or two sentences: why it matters, with the mechanism
    std::string_view fix;  // one or two sentences: what to do
    std::string_view doc;  // where it is explained: "docs/rules/lint.md#dpc003"
};

/// All entries, sorted by id.
std::span<const Rule> rules();

/// nullptr: no such id.
const Rule* find_rule(std::string_view id);

/// What a finding says of itself, else what the catalogue says of its rule.
std::string_view why_of(const Finding& finding);
std::string_view doc_of(const Finding& finding);

}  // namespace aliquot::findings
