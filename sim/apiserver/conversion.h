// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/resources.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// Whether a stored object is already of this resource's version.
bool is_stored_version(const Value& object, const Resource& resource);

/// A stored object as this version of its resource shows it.
Value to_version(const Value& object, const Resource& resource);

/// The way back: as it is stored.
Value to_storage(Value object, const Resource& resource, const Resources& resources);

}  // namespace aliquot::sim::apiserver
