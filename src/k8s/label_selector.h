// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

using Labels = std::map<std::string, std::string>;

/// One condition on labels.
struct Requirement {
    enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kOther };
    std::string key;
    Operator operation = Operator::kIn;
    std::vector<std::string> values{};
    friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// "In", "NotIn", ...: as Kubernetes writes them.
std::string_view to_text(Requirement::Operator operation);
/// Of another word kOther, which holds for nothing.
Requirement::Operator operator_of(std::string_view word);

/// For the value of the label `key`; nullptr: there is no such label.
bool holds(const Requirement& requirement, const std::string* value);
bool holds(const Requirement& requirement, const Labels& labels);

/// All must hold; none selects everything.
using LabelSelector = std::vector<Requirement>;

/// The first that does not hold; nullptr: all do.
const Requirement* first_unmet(const LabelSelector& selector, const Labels& labels);
inline bool matches(const LabelSelector& selector, const Labels& labels) {
    return first_unmet(selector, labels) == nullptr;
}

/// The string form: "app=web,tier in (a, b),!old,cores>4". Blanks separate; empty selects all.
/// errors   kInvalidInput: no such text, a key or value that no label can have, more than 8 KiB
/// source   k8s.io/apimachinery/pkg/labels
Result<LabelSelector> parse_label_selector(std::string_view text);

/// The string form; a requirement with an operator that it lacks is left out.
std::string to_text(const LabelSelector& selector);

/// A list of {key, operator, values}, as matchExpressions and matchFields are. Values that are no
/// scalars are left out.
std::vector<Requirement> read_requirements(const document::Value* list);
/// {matchLabels, matchExpressions}; of nullptr the one that selects everything.
LabelSelector read_label_selector(const document::Value* selector);
/// A mapping of texts: labels, annotations, nodeSelector.
Labels read_labels(const document::Value* mapping);

}  // namespace aliquot::k8s
