// SPDX-License-Identifier: Apache-2.0
#include "rpc/exchange.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "rpc/transport.h"

namespace aliquot::rpc {

std::int32_t Exchange::submit(nghttp2_session& session, const std::string& path,
                              std::chrono::milliseconds timeout,
                              nghttp2_data_source_read_callback read, void* user) const {
    const std::string deadline = std::to_string(timeout.count()) + "m";
    auto headers = fields({{":method", "POST"},
                           {":scheme", "http"},
                           {":path", path},
                           {":authority", "localhost"},
                           {"content-type", "application/grpc"},
                           {"te", "trailers"},
                           {"grpc-timeout", deadline}});
    if (timeout.count() == 0) headers.pop_back();
    const nghttp2_data_provider source{.source = {.ptr = user}, .read_callback = read};
    return nghttp2_submit_request(&session, nullptr, headers.data(), headers.size(), &source, user);
}

ssize_t Exchange::fill(std::uint8_t* into, std::size_t room, std::uint32_t& flags) {
    const auto length = std::min(room, request_.size() - sent_);
    std::memcpy(into, request_.data() + sent_, length);
    sent_ += length;
    if (sent_ == request_.size()) flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(length);
}

void Exchange::take_header(std::string_view name, std::string_view value) {
    if (name == ":status") http_status_ = value;
    if (name == "grpc-status") code_ = parse_code(value);
    if (name == "grpc-message") message_ = decode_message(value);
}

void Exchange::close(std::uint32_t error) {
    closed_ = true;
    reset_ = error;
}

Status Exchange::status() const {
    if (code_ && *code_ != Code::kOk) return {*code_, message_};
    if (!http_status_.empty() && http_status_ != "200")
        return {Code::kUnavailable, "HTTP status " + http_status_ + " instead of a gRPC answer"};
    if (!closed_) return {Code::kUnavailable, "the connection was closed before the answer"};
    if (code_) return {};
    if (reset_ == 0) return {Code::kUnavailable, "the answer has no gRPC status"};
    return {Code::kUnavailable,
            std::string("the call was reset: ") + nghttp2_http2_strerror(reset_)};
}

bool submit_client_settings(nghttp2_session& session, std::uint32_t window) {
    const std::array<nghttp2_settings_entry, 2> settings{
        {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}, {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}}};
    return nghttp2_submit_settings(&session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) ==
               0 &&
           nghttp2_session_set_local_window_size(&session, NGHTTP2_FLAG_NONE, 0,
                                                 static_cast<std::int32_t>(window)) == 0;
}

}  // namespace aliquot::rpc
