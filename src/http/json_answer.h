// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "document/value.h"
#include "http/message.h"

/// How the job and cost APIs answer, on one machine and in a cluster. Pure.
namespace aliquot::http {

/// A document as one line of JSON.
[[nodiscard]] Response json_answer(int status, const document::Value& value);

/// `{"error": {"code": CODE, "message": MESSAGE}}`; 503 has a Retry-After.
[[nodiscard]] Response refusal(int status, std::string_view code, std::string_view message);

/// The same with the status and the word of the error's code: 422 invalid, 404 not-found, 409 conflict, 403 forbidden,
/// 503 unavailable, 500 unsupported, 500 internal.
[[nodiscard]] Response refusal(const Error& error);

/// 405, unsupported: a path that takes other methods. methods   "GET, POST"
[[nodiscard]] Response wrong_method(std::string_view methods);

}  // namespace aliquot::http
