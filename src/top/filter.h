// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "top/table.h"

namespace aliquot::top {

/// Which rows are wanted: words that must all be found, in any case of letters. "web" looks at
/// everything; "ns=team-a" at one thing (node, gpu, model, ns, pod, container, resource, command);
/// "!ns=kube" keeps what has it not. An empty filter keeps all.
class Filter {
public:
    Filter() = default;
    /// errors   kInvalidInput: "colour=red" names nothing that a row has; the message lists what
    static Result<Filter> parse(std::string_view text);

    [[nodiscard]] bool keeps(const Subject& subject) const;
    [[nodiscard]] bool empty() const { return words_.empty(); }

private:
    struct Word {
        std::string text;                    // in small letters
        std::string Subject::*of = nullptr;  // empty: anything
        bool wanted = true;
    };
    std::vector<Word> words_;
};

}  // namespace aliquot::top
