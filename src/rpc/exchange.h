// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/body.h"
#include "rpc/status.h"

namespace aliquot::rpc {

/// A call as its client sees it: the request on its way out, and what the peer says of the end. The messages that come
/// are its owner's. Not thread-safe.
class Exchange {
public:
    explicit Exchange(std::string_view request) : request_(framed(request)) {}

    /// Hands the call to the session, whose callbacks find it by `user`.
    /// timeout   what the peer is told; 0: nothing
    /// returns   the id of its stream; negative: nghttp2's error
    [[nodiscard]] std::int32_t submit(nghttp2_session& session, const std::string& path,
                                      std::chrono::milliseconds timeout,
                                      nghttp2_data_source_read_callback read, void* user) const;

    /// The next bytes of the request, for nghttp2's callback that reads.
    ssize_t fill(std::uint8_t* into, std::size_t room, std::uint32_t& flags);
    void take_header(std::string_view name, std::string_view value);
    /// Its stream is over.
    void close(std::uint32_t error);

    [[nodiscard]] bool closed() const { return closed_; }
    /// How it ended, by the peer's words or for want of them.
    [[nodiscard]] Status status() const;

private:
    const std::string request_;
    std::size_t sent_ = 0;  // of request_
    std::string http_status_;
    std::optional<Code> code_;
    std::string message_;
    bool closed_ = false;
    std::uint32_t reset_ = 0;  // the error code that the stream ended with
};

/// What a client's session says first: no push, and room for an answer of `window` bytes. False: no memory.
bool submit_client_settings(nghttp2_session& session, std::uint32_t window);

}  // namespace aliquot::rpc
