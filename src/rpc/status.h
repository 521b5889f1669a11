// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot::rpc {

/// The codes of gRPC, by their numbers on the wire (grpc/doc/statuscodes.md).
enum class Code : std::uint8_t {
    kOk = 0,
    kCancelled = 1,
    kUnknown = 2,
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kNotFound = 5,
    kAlreadyExists = 6,
    kPermissionDenied = 7,
    kResourceExhausted = 8,
    kFailedPrecondition = 9,
    kAborted = 10,
    kOutOfRange = 11,
    kUnimplemented = 12,
    kInternal = 13,
    kUnavailable = 14,
    kDataLoss = 15,
    kUnauthenticated = 16,
};

/// How a call ended.
struct Status {
    Code code = Code::kOk;
    std::string message;  // for people; empty when all went well

    [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

Status to_status(const Error& error);

/// What a peer answered, of which `subject` is said: "Register at kubelet.sock: no such resource".
/// Whatever the caller cannot fix by another request is kUnavailable.
Error to_error(const Status& status, const std::string& subject);

/// A grpc-message as a header carries it: percent-encoded, at most 1 KiB of text.
std::string encode_message(std::string_view text);
/// The reverse; what is no valid escape stays as it is.
std::string decode_message(std::string_view header);

/// A grpc-timeout header ("250m", "10S"): rounded up to a millisecond. None: it says no time.
std::optional<std::chrono::milliseconds> parse_timeout(std::string_view header);

/// A grpc-status header. What is not a number of 0 to 16 is kUnknown.
Code parse_code(std::string_view header);

}  // namespace aliquot::rpc
