// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

/// resource.k8s.io: what the kinds of Dynamic Resource Allocation have of their own.
namespace aliquot::sim::apiserver {

void claim_defaults(Value& object);
void claim_template_defaults(Value& object);
void slice_defaults(Value& object);

/// Fields whose feature gate is off are lost without a word, in a new object; a changed one keeps those
/// that it had before (`old`; null: new).
void drop_gated_fields(const Call& call, Value& object, const Value& old);

void validate_devices(std::vector<Cause>& causes, const Call& call, const Value& object,
                      const Value& old);

/// Who writes the status of a claim needs resourceclaims/binding for the allocation and its users, and
/// resourceclaims/driver for the devices' own status; a claim with admin access needs its namespace's label.
Outcome<Done> admit_devices(const Call& call, const Value& object, const Value& old);

}  // namespace aliquot::sim::apiserver
