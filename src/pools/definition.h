// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "document/build.h"

namespace aliquot::pools {

inline constexpr std::string_view kPoolGroup = "aliquot.dev";
inline constexpr std::string_view kPoolVersion = "v1alpha1";
inline constexpr std::string_view kPoolPlural = "pools";

/// The CustomResourceDefinition of Pool, with its status and with scale (.spec.replicas, .status.nodes), so that
/// kubectl scale works. The API server checks types and limits; read_pool() checks all the rest.
document::Value pool_definition();

}  // namespace aliquot::pools
