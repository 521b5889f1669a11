// SPDX-License-Identifier: Apache-2.0
#include "http/json_answer.h"

#include "base/text.h"
#include "document/build.h"
#include "document/json.h"

namespace aliquot::http {
namespace {

using document::make_mapping;

constexpr int kUnavailable = 503;

struct Refused {
    int status;
    std::string_view code;
};

Refused refused_as(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return {422, "invalid"};
        case ErrorCode::kNotFound:
            return {404, "not-found"};
        case ErrorCode::kConflict:
            return {409, "conflict"};
        case ErrorCode::kPermission:
            return {403, "forbidden"};
        case ErrorCode::kUnavailable:
            return {kUnavailable, "unavailable"};
        case ErrorCode::kUnsupported:
            return {500, "unsupported"};
        case ErrorCode::kInternal:
            break;
    }
    return {500, "internal"};
}

}  // namespace

Response json_answer(int status, const document::Value& value) {
    return {.status = status,
            .content_type = "application/json",
            .body = document::to_json_line(value) + "\n"};
}

Response refusal(int status, std::string_view code, std::string_view message) {
    Response refused = json_answer(
        status, make_mapping({{"error", make_mapping({{"code", code}, {"message", message}})}}));
    if (status == kUnavailable) refused.headers.emplace_back("Retry-After", "5");
    return refused;
}

Response refusal(const Error& error) {
    const Refused as = refused_as(error.code);
    return refusal(as.status, as.code, error.message);
}

Response wrong_method(std::string_view methods) {
    Response wrong = refusal(405, "unsupported", concat({"only ", methods}));
    wrong.headers.emplace_back("Allow", methods);
    return wrong;
}

}  // namespace aliquot::http
