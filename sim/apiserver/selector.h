// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/apiserver/resources.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

struct Requirement {
    enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGreater, kLess };
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
};

/// All must hold; none selects everything.
using Selector = std::vector<Requirement>;

/// "app=web,tier in (a, b),!old,cores>4". errors   kInvalidInput
Result<Selector> parse_label_selector(std::string_view text);

/// "spec.nodeName=n1,status.phase!=Failed": only =, == and !=. errors   kInvalidInput
Result<Selector> parse_field_selector(std::string_view text);

/// A LabelSelector object (matchLabels, matchExpressions).
Selector read_label_selector(const Value& selector);

bool matches_labels(const Selector& selector, const Value& labels);

/// The fields of a resource that a field selector may name, beside metadata.name (and
/// metadata.namespace).
bool is_selectable(const Resource& resource, std::string_view field);
bool matches_fields(const Selector& selector, const Resource& resource, const Value& object);

}  // namespace aliquot::sim::apiserver
