// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/apiserver/types.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

struct Decoded {
    Value value;
    std::vector<std::string> unknown;     // paths of fields that the type does not have
    std::vector<std::string> mismatches;  // "spec.replicas: expected an integer, found a string"
};

/// A value as its type has it: unknown fields taken out, amounts and times in one spelling, nulls
/// and empty lists and maps dropped (built-in types).
Decoded decode_built_in(const Value& value, const Type& type);

/// The same for custom resources: unknown fields pruned, the rest as given; mismatches are left to
/// check_schema().
Decoded decode_custom(const Value& value, const Type& type);

/// Sets the defaults that a custom resource's schema has.
void apply_schema_defaults(Value& value, const Type& type);

}  // namespace aliquot::sim::apiserver
