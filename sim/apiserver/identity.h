// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Settles name and namespace of a new object. errors   400, 422
Outcome<Done> name_new(Call& call, Value& object);

/// Sets what the server gives a new object: uid, creation time, generation.
void stamp_new(Call& call, Value& object);

/// What no client may change is as it was.
void keep_identity(const Value& old, Value& object);

/// Whether a changed object is meant for `old`: name, namespace, uid and resourceVersion.
/// errors   400, 409, 422
Outcome<Done> check_identity(const Call& call, const Value& old, const Value& object);

}  // namespace aliquot::sim::apiserver
