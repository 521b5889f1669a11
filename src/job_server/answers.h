// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "document/value.h"
#include "http/message.h"

namespace aliquot::job_server {

inline constexpr const char* kJsonType = "application/json";

/// A document as one line of JSON.
[[nodiscard]] http::Response answer(int status, const document::Value& value);

/// `{"error": {"code": ..., "message": ...}}` with the status of the code; kUnavailable has a Retry-After.
[[nodiscard]] http::Response refusal(const Error& error);
[[nodiscard]] http::Response refusal(ErrorCode code, std::string message);

}  // namespace aliquot::job_server
