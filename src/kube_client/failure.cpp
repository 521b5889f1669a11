// SPDX-License-Identifier: Apache-2.0
#include "kube_client/failure.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace aliquot::kube_client {
namespace {

struct Word {
    Reason reason;
    std::string_view text;
    ErrorCode code;
    int http_status;  // what a bare status of that number means; 0: never guessed from a number
};

constexpr std::array kWords{
    Word{Reason::kUnknown, "Unknown", ErrorCode::kUnavailable, 0},
    Word{Reason::kBadRequest, "BadRequest", ErrorCode::kInvalidInput, 400},
    Word{Reason::kUnauthorized, "Unauthorized", ErrorCode::kPermission, 401},
    Word{Reason::kForbidden, "Forbidden", ErrorCode::kPermission, 403},
    Word{Reason::kNotFound, "NotFound", ErrorCode::kNotFound, 404},
    Word{Reason::kMethodNotAllowed, "MethodNotAllowed", ErrorCode::kUnsupported, 405},
    Word{Reason::kNotAcceptable, "NotAcceptable", ErrorCode::kUnsupported, 406},
    Word{Reason::kAlreadyExists, "AlreadyExists", ErrorCode::kConflict, 0},
    Word{Reason::kConflict, "Conflict", ErrorCode::kConflict, 409},
    Word{Reason::kGone, "Gone", ErrorCode::kConflict, 410},
    Word{Reason::kExpired, "Expired", ErrorCode::kConflict, 0},
    Word{Reason::kInvalid, "Invalid", ErrorCode::kInvalidInput, 422},
    Word{Reason::kTooLarge, "RequestEntityTooLarge", ErrorCode::kInvalidInput, 413},
    Word{Reason::kUnsupportedMediaType, "UnsupportedMediaType", ErrorCode::kUnsupported, 415},
    Word{Reason::kTooManyRequests, "TooManyRequests", ErrorCode::kUnavailable, 429},
    Word{Reason::kTimeout, "Timeout", ErrorCode::kUnavailable, 0},
    Word{Reason::kServerTimeout, "ServerTimeout", ErrorCode::kUnavailable, 504},
    Word{Reason::kServiceUnavailable, "ServiceUnavailable", ErrorCode::kUnavailable, 503},
    Word{Reason::kInternalError, "InternalError", ErrorCode::kUnavailable, 500},
    Word{Reason::kUnreachable, "Unreachable", ErrorCode::kUnavailable, 0},
    Word{Reason::kDeadline, "Deadline", ErrorCode::kUnavailable, 0},
    Word{Reason::kStopped, "Stopped", ErrorCode::kUnavailable, 0},
    Word{Reason::kMalformed, "Malformed", ErrorCode::kUnavailable, 0},
    Word{Reason::kCredentials, "Credentials", ErrorCode::kPermission, 0},
};

const Word& word_of(Reason reason) {
    const auto* const found =
        std::ranges::find(kWords, reason, [](const Word& word) { return word.reason; });
    return found == kWords.end() ? kWords.front() : *found;
}

Reason reason_of(std::string_view text, int status) {
    const auto* found = std::ranges::find(kWords, text, [](const Word& word) { return word.text; });
    // A server has no words for the reasons that are ours alone.
    if (found != kWords.end() && found->reason != Reason::kUnknown &&
        found->reason < Reason::kUnreachable) {
        return found->reason;
    }
    found = std::ranges::find(kWords, status, [](const Word& word) { return word.http_status; });
    if (found != kWords.end() && status != 0) return found->reason;
    if (status == 502) return Reason::kServiceUnavailable;  // a proxy in between
    return Reason::kUnknown;
}

/// One line of at most 300 bytes, whatever the server wrote.
std::string one_line(std::string_view text) {
    constexpr std::size_t kMost = 300;
    std::string line;
    for (const char c : text.substr(0, kMost)) {
        line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    while (line.ends_with(' ')) line.pop_back();
    if (text.size() > kMost) line += "...";
    return line;
}

std::string status_text(simdjson::dom::element element, const char* name) {
    std::string_view text;
    if (element[name].get(text) != simdjson::SUCCESS) return {};
    return std::string(text);
}

struct Status {
    std::string reason;
    std::string message;
    int code = 0;
    std::optional<std::chrono::milliseconds> retry_after;
    std::vector<Cause> causes;
};

void read_details(simdjson::dom::element details, Status& status) {
    constexpr std::size_t kMostCauses = 100;
    std::int64_t seconds = 0;
    if (details["retryAfterSeconds"].get(seconds) == simdjson::SUCCESS && seconds > 0) {
        status.retry_after = std::chrono::seconds(std::min<std::int64_t>(seconds, 3600));
    }
    simdjson::dom::array causes;
    if (details["causes"].get(causes) != simdjson::SUCCESS) return;
    for (const auto cause : causes) {
        if (status.causes.size() == kMostCauses) return;
        // "reason" is the name on the wire of what the types call the cause's type.
        status.causes.push_back({.type = status_text(cause, "reason"),
                                 .field = status_text(cause, "field"),
                                 .message = status_text(cause, "message")});
    }
}

std::optional<Status> read_status(std::string_view body) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS) return {};
    if (status_text(root, "kind") != "Status") return {};
    Status status{.reason = status_text(root, "reason"), .message = status_text(root, "message")};
    std::int64_t code = 0;
    if (root["code"].get(code) == simdjson::SUCCESS && code > 0 && code < 1000) {
        status.code = static_cast<int>(code);
    }
    simdjson::dom::element details;
    if (root["details"].get(details) == simdjson::SUCCESS) read_details(details, status);
    return status;
}

}  // namespace

std::string_view to_text(Reason reason) { return word_of(reason).text; }

ErrorCode code_of(Reason reason) { return word_of(reason).code; }

Failure failure_of(int status, std::string_view body, std::string_view what) {
    Failure failure;
    failure.message = std::string(what) + ": ";
    auto read = read_status(body);
    if (!read) {
        failure.http_status = status;
        failure.reason = reason_of({}, status);
        failure.message += "HTTP " + std::to_string(status);
        const std::string said = one_line(body);
        if (!said.empty()) failure.message += ": " + said;
        return failure;
    }
    failure.http_status = read->code != 0 ? read->code : status;
    failure.reason = reason_of(read->reason, failure.http_status);
    failure.retry_after = read->retry_after;
    failure.causes = std::move(read->causes);
    failure.message +=
        std::string(to_text(failure.reason)) + " (" + std::to_string(failure.http_status) + ")";
    if (!read->message.empty()) failure.message += ": " + one_line(read->message);
    return failure;
}

}  // namespace aliquot::kube_client
