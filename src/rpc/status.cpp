// SPDX-License-Identifier: Apache-2.0
#include "rpc/status.h"

#include <cstddef>

#include "base/number.h"

namespace aliquot::rpc {
namespace {

constexpr std::size_t kMessageLimit = 1024;
constexpr char kHex[] = "0123456789ABCDEF";

Code code_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return Code::kInvalidArgument;
        case ErrorCode::kNotFound:
            return Code::kNotFound;
        case ErrorCode::kConflict:
            return Code::kAborted;
        case ErrorCode::kUnsupported:
            return Code::kFailedPrecondition;
        case ErrorCode::kPermission:
            return Code::kPermissionDenied;
        case ErrorCode::kUnavailable:
            return Code::kUnavailable;
        case ErrorCode::kInternal:
            break;
    }
    return Code::kInternal;
}

ErrorCode code_of(Code code) {
    switch (code) {
        case Code::kInvalidArgument:
        case Code::kOutOfRange:
            return ErrorCode::kInvalidInput;
        case Code::kNotFound:
            return ErrorCode::kNotFound;
        case Code::kAborted:
        case Code::kAlreadyExists:
            return ErrorCode::kConflict;
        case Code::kUnimplemented:
        case Code::kFailedPrecondition:
            return ErrorCode::kUnsupported;
        case Code::kPermissionDenied:
        case Code::kUnauthenticated:
            return ErrorCode::kPermission;
        default:
            return ErrorCode::kUnavailable;
    }
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

Status to_status(const Error& error) {
    return {code_of(error.code), error.message.substr(0, kMessageLimit)};
}

Error to_error(const Status& status, const std::string& subject) {
    const std::string words = status.message.empty()
                                  ? "gRPC status " + std::to_string(static_cast<int>(status.code))
                                  : status.message.substr(0, kMessageLimit);
    return {code_of(status.code), subject + ": " + words};
}

std::string encode_message(std::string_view text) {
    std::string encoded;
    for (const char c : text.substr(0, kMessageLimit)) {
        if (c >= ' ' && c <= '~' && c != '%') {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += kHex[byte >> 4U];
        encoded += kHex[byte & 15U];
    }
    return encoded;
}

std::string decode_message(std::string_view header) {
    std::string text;
    for (std::size_t i = 0; i < header.size(); ++i) {
        const int high = header[i] == '%' && i + 2 < header.size() ? hex_digit(header[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(header[i + 2]) : -1;
        if (low >= 0) {
            text += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            text += header[i];
        }
    }
    return text;
}

std::optional<std::chrono::milliseconds> parse_timeout(std::string_view header) {
    using std::chrono::ceil;
    using std::chrono::milliseconds;
    constexpr std::size_t kDigits = 8;
    if (header.size() < 2 || header.size() > kDigits + 1) return std::nullopt;
    const auto number = parse_number<std::int64_t>(header.substr(0, header.size() - 1));
    if (!number || *number < 0) return std::nullopt;
    switch (header.back()) {
        case 'H':
            return std::chrono::hours(*number);
        case 'M':
            return std::chrono::minutes(*number);
        case 'S':
            return std::chrono::seconds(*number);
        case 'm':
            return milliseconds(*number);
        case 'u':
            return ceil<milliseconds>(std::chrono::microseconds(*number));
        case 'n':
            return ceil<milliseconds>(std::chrono::nanoseconds(*number));
        default:
            return std::nullopt;
    }
}

Code parse_code(std::string_view header) {
    const auto number = parse_number<unsigned>(header);
    return number && *number <= 16 ? static_cast<Code>(*number) : Code::kUnknown;
}

}  // namespace aliquot::rpc
