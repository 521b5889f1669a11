// SPDX-License-Identifier: Apache-2.0
#include "job_server/answers.h"

#include "document/build.h"
#include "document/json.h"

namespace aliquot::job_server {
namespace {

using document::make_mapping;
using document::Value;
using http::Response;

int status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return 422;
        case ErrorCode::kNotFound:
            return 404;
        case ErrorCode::kConflict:
            return 409;
        case ErrorCode::kPermission:
            return 403;
        case ErrorCode::kUnavailable:
            return 503;
        case ErrorCode::kUnsupported:
        case ErrorCode::kInternal:
            break;
    }
    return 500;
}

std::string_view word_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return "invalid";
        case ErrorCode::kNotFound:
            return "not-found";
        case ErrorCode::kConflict:
            return "conflict";
        case ErrorCode::kPermission:
            return "forbidden";
        case ErrorCode::kUnavailable:
            return "unavailable";
        case ErrorCode::kUnsupported:
            return "unsupported";
        case ErrorCode::kInternal:
            break;
    }
    return "internal";
}

}  // namespace

Response answer(int status, const Value& value) {
    return {
        .status = status, .content_type = kJsonType, .body = document::to_json_line(value) + "\n"};
}

Response refusal(const Error& error) {
    Response refused =
        answer(status_of(error.code),
               make_mapping({{"error", make_mapping({{"code", word_of(error.code)},
                                                     {"message", error.message}})}}));
    if (error.code == ErrorCode::kUnavailable) refused.headers.emplace_back("Retry-After", "5");
    return refused;
}

Response refusal(ErrorCode code, std::string message) {
    return refusal(Error{code, std::move(message)});
}

}  // namespace aliquot::job_server
