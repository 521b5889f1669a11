// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/value.h"

namespace aliquot::cel {

/// A part of an expression.
struct Node {
    enum class Kind : unsigned char {
        kLiteral,  // value
        kName,     // name
        kSelect,   // children[0] . name
        kIndex,    // children[0] [ children[1] ]
        kCall,     // name ( children ), operators too: "==", "!", "-", "?:"
        kMethod,   // children[0] . name ( the other children )
        kAnd,      // of two and more children
        kOr,
        kList,
        kMap,   // key, value, key, value
        kHas,   // has(children[0] . name)
        kLoop,  // children[0] . name ( variable, the other children ): all, exists, map ...
        kBind,  // cel.bind(variable, children[0], children[1])
    };
    Kind kind = Kind::kLiteral;
    std::size_t offset = 0;  // where it stands: of an operator the sign, of a call the name
    unsigned depth = 1;      // of the tree below
    bool optional = false;   // .?name, [?index]
    std::string name{};
    std::string variable{};
    Value value{};
    std::vector<Node> children{};
};

/// The Common Expression Language as selectors of devices use it: everything of its core but bytes,
/// unsigned numbers, times and messages; has(), the loops, optional values, cel.bind; Kubernetes'
/// quantities and versions; texts. Immutable, any thread.
/// source   github.com/google/cel-spec; k8s.io/apiserver/pkg/cel/library; k8s.io/dynamic-resource-allocation/cel
class Expression {
public:
    static constexpr std::size_t kLongest = 10 * 1024;  // bytes, as the API server has it

    /// Reads and checks: functions and the number of their arguments, names that are not `variables`.
    /// errors   kInvalidInput: "1:14: what is wrong there" (line and column), longer than kLongest,
    ///          nested deeper than 100 levels, a function that is not supported
    static Result<Expression> parse(std::string_view text,
                                    const std::vector<std::string>& variables);

    [[nodiscard]] const std::string& text() const { return *text_; }
    [[nodiscard]] const Node& root() const { return *root_; }

private:
    std::shared_ptr<const std::string> text_;
    std::shared_ptr<const Node> root_;
};

}  // namespace aliquot::cel
