// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Faults over HTTP, for tests in other languages. POST with a JSON object:
///   /_sim/fault {method,path,resource,verb,status,retryAfterSeconds,delayMilliseconds,
///                breakConnection,afterWrite,times}
///   /_sim/clear, /_sim/compact, /_sim/break {resource}, /_sim/expire {resource},
///   /_sim/log {namespace,pod,container,text}: what the container has said
///   /_sim/hold {resource}, /_sim/release {resource}, /_sim/settle
/// GET /_sim/state: revision, open watches, requests.
HttpAnswer answer_control(ServerContext& context, const HttpRequest& request);

}  // namespace aliquot::sim::apiserver
