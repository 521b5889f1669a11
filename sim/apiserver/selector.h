// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/label_selector.h"
#include "sim/apiserver/resources.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

using k8s::Requirement;
using Selector = k8s::LabelSelector;
using k8s::parse_label_selector;

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
