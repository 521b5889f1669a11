// SPDX-License-Identifier: Apache-2.0
#include "lint/report.h"

#include <algorithm>

#include "findings/rule.h"
#include "lint/file.h"
#include "lint/ignore.h"

namespace aliquot::lint {

Report::Entry& Report::Entry::expected(std::string text) {
    finding_.expected = std::move(text);
    return *this;
}

Report::Entry& Report::Entry::fix(std::string text) {
    finding_.fix = std::move(text);
    return *this;
}

Report::Entry& Report::Entry::severity(findings::Severity severity) {
    finding_.severity = severity;
    return *this;
}

Report::Entry& Report::Entry::edit(std::size_t offset, std::size_t length,
                                   std::string replacement) {
    finding_.edits.push_back({offset, length, std::move(replacement)});
    return *this;
}

Report::Entry& Report::Entry::edit(const File& file, document::Mark mark, std::size_t length,
                                   std::string replacement) {
    return edit(file.offset(mark), length, std::move(replacement));
}

Report::Entry Report::add(std::string_view rule, document::Mark mark, std::string message) {
    constexpr std::size_t kMost = 20'000;  // of one file
    const bool fresh = findings_.size() < kMost &&
                       known_.emplace(mark.line, mark.column, std::string(rule), message).second;
    findings::Finding& finding = fresh ? findings_.emplace_back() : duplicate_;
    finding = {};
    finding.file = file_.name;
    finding.line = mark.line;
    finding.column = mark.line == 0 ? 0 : std::max(mark.column, 1U);
    finding.rule = std::string(rule);
    finding.message = std::move(message);
    if (const findings::Rule* known = findings::find_rule(rule)) {
        finding.severity = known->severity;
        finding.fix = std::string(known->fix);
    }
    return Entry(finding);
}

bool Report::has(document::Mark mark) const {
    const auto at = known_.lower_bound({mark.line, 0, {}, {}});
    return at != known_.end() && std::get<0>(*at) == mark.line;
}

std::vector<findings::Finding> Report::take() {
    std::vector<findings::Finding> all(std::make_move_iterator(findings_.begin()),
                                       std::make_move_iterator(findings_.end()));
    findings_.clear();
    if (file_.mentions("aliquot") && !all.empty()) {
        const Ignores ignores(file_);
        const auto ignored =
            std::remove_if(all.begin(), all.end(),
                           [&ignores](const findings::Finding& one) { return ignores.cover(one); });
        all.erase(ignored, all.end());
    }
    findings::sort(all);
    return all;
}

}  // namespace aliquot::lint
