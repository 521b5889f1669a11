// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "sim/apiserver/types.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// RFC 6902. All operations are done or none.
/// errors   kInvalidInput: no patch, or an operation that cannot be done; kConflict: a failed test
Result<Value> apply_json_patch(Value document, const Value& patch);

/// The operations that make `after` of `before`.
Value make_json_patch(const Value& before, const Value& after);

/// RFC 7386.
void apply_merge_patch(Value& document, const Value& patch);

/// Kubernetes' own: lists are merged by key where the type says so; $patch, $retainKeys,
/// $setElementOrder/NAME and $deleteFromPrimitiveList/NAME are obeyed.
/// errors   kInvalidInput: unknown directive, an element without its merge key
Result<Value> apply_strategic_patch(const Value& document, const Value& patch, const Type& type);

}  // namespace aliquot::sim::apiserver
