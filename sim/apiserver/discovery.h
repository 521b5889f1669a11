// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/world.h"

namespace aliquot::sim::apiserver {

/// Paths that are no resource: /api, /apis, /version, /healthz, /openapi/v3, ...
HttpAnswer answer_discovery(World& world, const HttpRequest& request);

/// /openapi/v3 and what lies under it.
HttpAnswer answer_openapi(World& world, const HttpRequest& request);

}  // namespace aliquot::sim::apiserver
