// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/nearest_word.h"
#include "base/text.h"
#include "cel/functions.h"
#include "cel/parser.h"
#include "cel/tokens.h"

namespace aliquot::cel {
namespace {

using Kind = Node::Kind;

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const std::vector<std::string_view> words(known.begin(), known.end());
    const std::string_view meant = nearest_word(word, words);
    return meant.empty() ? "" : ", did you mean '" + std::string(meant) + "'?";
}

bool is_operator(const Node& node) {
    const char first = node.name.front();
    return node.kind == Kind::kCall && ((!is_letter(first) && first != '_') || node.name == "in");
}

/// Names and calls of one expression.
class NameCheck {
public:
    NameCheck(std::string_view text, std::vector<std::string> variables)
        : text_(text), variables_(std::move(variables)) {}

    Result<Done> visit(const Node& node) {
        if (node.kind == Kind::kName) return name(node);
        if (node.kind == Kind::kLoop || node.kind == Kind::kBind) {
            if (auto first = visit(node.children.front()); !first) return first;
            variables_.push_back(node.variable);
            Result<Done> rest = Done{};
            for (std::size_t i = 1; i < node.children.size() && rest; ++i) {
                rest = visit(node.children[i]);
            }
            variables_.pop_back();
            return rest;
        }
        if (node.kind == Kind::kMethod && node.children.front().kind == Kind::kName &&
            node.children.front().name == "optional") {
            if (auto known = maybe(node); !known) return known;
            for (std::size_t i = 1; i < node.children.size(); ++i) {
                if (auto one = visit(node.children[i]); !one) return one;
            }
            return Done{};
        }
        if (node.kind == Kind::kMethod || (node.kind == Kind::kCall && !is_operator(node))) {
            if (auto known = call(node); !known) return known;
        }
        for (const Node& child : node.children) {
            if (auto one = visit(child); !one) return one;
        }
        return Done{};
    }

private:
    Result<Done> name(const Node& node) {
        if (std::ranges::find(variables_, node.name) != variables_.end()) return Done{};
        return error_at(
            text_, node.offset,
            "there is no variable '" + node.name + "'" + did_you_mean(node.name, variables_));
    }

    Result<Done> maybe(const Node& node) {
        const bool of = node.name == "of" || node.name == "ofNonZeroValue";
        if ((of && node.children.size() == 2) ||
            (node.name == "none" && node.children.size() == 1)) {
            return Done{};
        }
        return error_at(text_, node.offset, "there is no optional." + node.name + "() of these");
    }

    Result<Done> call(const Node& node) {
        const bool method = node.kind == Kind::kMethod;
        const std::string shown = node.name + "()";
        const Function* const found = find_function(node.name);
        if (found == nullptr) {
            if (is_unsupported_function(node.name)) {
                return error_at(text_, node.offset,
                                shown + " is a function of Kubernetes that is not supported here");
            }
            return error_at(
                text_, node.offset,
                "CEL has no function " + shown + did_you_mean(node.name, function_names()));
        }
        if (found->form != Function::Form::kBoth &&
            (found->form == Function::Form::kMethod) != method) {
            return error_at(text_, node.offset,
                            method ? shown + " stands before no value: " + node.name + "(x)"
                                   : shown + " stands behind a value: x." + node.name + "(...)");
        }
        const std::size_t given = node.children.size() - (method ? 1 : 0);
        const std::size_t shift = found->form == Function::Form::kBoth && !method ? 1 : 0;
        if (given >= found->fewest + shift && given <= found->most + shift) return Done{};
        return error_at(text_, node.offset, "wrong number of arguments of " + shown);
    }

    std::string_view text_;
    std::vector<std::string> variables_;
};

}  // namespace

Result<Done> check_names(std::string_view text, const Node& root,
                         const std::vector<std::string>& variables) {
    return NameCheck(text, variables).visit(root);
}

}  // namespace aliquot::cel
