// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "findings/finding.h"

namespace aliquot::lint {

struct File;

/// What a file asks not to be told:
///   # aliquot:ignore POD014 reason       in a comment: that line; on a line of its own, the next line and
///                                        what is indented below it
///   <!-- aliquot:ignore SH002 -->        in a runbook: the next block or paragraph
///   aliquot:ignore-file POD014           in any comment: the whole file
///   lint.aliquot/ignore: "POD014: why"   an annotation: that object
/// Several ids are separated by commas; a word behind them is the reason. `all` stands for every rule.
class Ignores {
public:
    explicit Ignores(const File& file);

    [[nodiscard]] bool cover(const findings::Finding& finding) const;

private:
    struct Span {
        std::string rule;  // "all": any
        unsigned first = 0;
        unsigned last = 0;
    };
    void read_comments(const File& file);
    void read_annotations(const File& file);
    void add(std::string_view ids, unsigned first, unsigned last);

    std::vector<Span> spans_;
};

}  // namespace aliquot::lint
