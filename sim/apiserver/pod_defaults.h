// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// Gives a member that is missing or null this content (a copy: it may come from the same object).
void set_default(Value& object, std::string_view name, Value content);

/// Of a pod, and of a template for pods (where what belongs to a pod alone stays away).
void pod_spec_defaults(Value& spec, bool is_pod);
void template_defaults(Value& spec);

}  // namespace aliquot::sim::apiserver
