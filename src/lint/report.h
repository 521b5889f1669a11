// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "document/value.h"
#include "findings/finding.h"

namespace aliquot::lint {

struct File;

/// Takes what the rules find in one file. A rule that says the same of the same place twice is
/// heard once.
class Report {
public:
    explicit Report(const File& file) : file_(file) {}

    /// Where a rule's words are put together:
    ///   report.add("POD014", container.image_node->mark, "the image has no tag").expected("a tag")
    ///       .fix("image: nginx:1.27.1");
    class Entry {
    public:
        explicit Entry(findings::Finding& finding) : finding_(finding) {}
        /// What may stand there.
        Entry& expected(std::string text);
        /// The fixed form, ready to paste. Without it the catalogue's fix is printed.
        Entry& fix(std::string text);
        /// Not the catalogue's severity, for a reason (ux: "I for bare test Pods").
        Entry& severity(findings::Severity severity);
        /// What --fix does: only where it is mechanical and surely right. Several edits of one
        /// finding are made together or not at all. Places are bytes of File::original.
        Entry& edit(std::size_t offset, std::size_t length, std::string replacement);
        /// Replaces `length` bytes at a mark.
        Entry& edit(const File& file, document::Mark mark, std::size_t length,
                    std::string replacement);

    private:
        findings::Finding& finding_;
    };

    /// rule      an id of api/findings.yaml
    /// mark      a place of the file; {0, 0}: the file as a whole
    /// message   what was found, with the value, in one line; what was read may be quoted in it
    Entry add(std::string_view rule, document::Mark mark, std::string message);

    /// Whether something is reported of this line already.
    [[nodiscard]] bool has(document::Mark mark) const;

    [[nodiscard]] const File& file() const { return file_; }
    /// Sorted, ignored ones taken out (see ignore.h), without duplicates.
    std::vector<findings::Finding> take();

private:
    const File& file_;
    std::deque<findings::Finding> findings_;  // an Entry stays good while others come
    std::set<std::tuple<unsigned, unsigned, std::string, std::string>> known_;
    findings::Finding duplicate_;
};

}  // namespace aliquot::lint
