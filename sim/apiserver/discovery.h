// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Paths that are no resource: /api, /apis, /version, /healthz, /openapi/v3, ...
HttpAnswer answer_discovery(ServerContext& context, const HttpRequest& request);

/// /openapi/v3 and what lies under it.
HttpAnswer answer_openapi(ServerContext& context, const HttpRequest& request);

}  // namespace aliquot::sim::apiserver
