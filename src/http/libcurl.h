// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace aliquot::http {

/// Loads libcurl and starts it, once for the process. Our programs are not linked with it: it brings
/// thirty libraries along, which would cost every command its start-up although few ask the network.
/// libcurl.cpp has the functions of <curl/curl.h> that we use; they pass the call on, and without
/// the library they fail as libcurl itself does (no handle, CURLE_FAILED_INIT).
/// errors   kUnavailable: it cannot be loaded or does not start; the message names it and the fix
/// Thread-safe. Call it before the first curl_ function: those do not tell why they fail.
Result<Done> start_libcurl();

}  // namespace aliquot::http
