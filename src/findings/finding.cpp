// SPDX-License-Identifier: Apache-2.0
#include "findings/finding.h"

#include <algorithm>
#include <tuple>

namespace aliquot::findings {

std::string_view to_text(Severity severity) {
    switch (severity) {
        case Severity::kError:
            return "error";
        case Severity::kWarning:
            return "warning";
        case Severity::kInfo:
            return "info";
    }
    return "error";
}

void sort(std::vector<Finding>& findings) {
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
    });
    // Equal findings share their place, but another one may stand between them.
    std::vector<Finding> kept;
    kept.reserve(findings.size());
    for (Finding& finding : findings) {
        bool known = false;
        for (auto one = kept.rbegin(); one != kept.rend() && !known; ++one) {
            if (std::tie(one->file, one->line, one->column) !=
                std::tie(finding.file, finding.line, finding.column)) {
                break;
            }
            known = *one == finding;
        }
        if (!known) kept.push_back(std::move(finding));
    }
    findings = std::move(kept);
}

bool has_errors(std::span<const Finding> findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.severity == Severity::kError; });
}

}  // namespace aliquot::findings
