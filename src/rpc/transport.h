// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace aliquot::rpc {

struct SessionEnd {
    void operator()(nghttp2_session* session) const;
};
using Session = std::unique_ptr<nghttp2_session, SessionEnd>;

struct CallbacksEnd {
    void operator()(nghttp2_session_callbacks* callbacks) const;
};
using Callbacks = std::unique_ptr<nghttp2_session_callbacks, CallbacksEnd>;

/// What every session of ours is told of: fields, bodies and ends of streams.
/// Throws std::bad_alloc.
Callbacks new_callbacks(nghttp2_on_header_callback on_header,
                        nghttp2_on_data_chunk_recv_callback on_data,
                        nghttp2_on_stream_close_callback on_close);
/// `user` is what the callbacks are given. Throws std::bad_alloc.
Session new_client_session(const nghttp2_session_callbacks& callbacks, void* user);

/// Header fields in nghttp2's form. The texts must outlive it.
using Fields = std::vector<nghttp2_nv>;
Fields fields(std::initializer_list<std::pair<std::string_view, std::string_view>> all);

/// The bytes of a connection, in and out of an HTTP/2 session. Never waits. Not thread-safe.
class Transport {
public:
    /// What is taken while something waits to be sent. A server takes nothing, so that a peer that asks and does not
    /// read fills its own buffers. A client of many calls goes on: else two that both wait to send would wait forever.
    enum class Reading : std::uint8_t { kAfterWriting, kAlways };

    explicit Transport(Descriptor connection, Reading reading = Reading::kAfterWriting)
        : connection_(std::move(connection)), reading_(reading) {}

    /// Takes what has come.
    /// returns  false: the peer is gone, or speaks no HTTP/2
    bool read(nghttp2_session& session);

    /// Sends what the session has and the socket takes. False: as read().
    bool write(nghttp2_session& session);

    /// Everything that the session had is with the kernel.
    [[nodiscard]] bool flushed() const { return sent_ == out_.size(); }

    [[nodiscard]] int descriptor() const { return connection_.get(); }
    [[nodiscard]] short events() const;  // for poll()

private:
    bool send();
    [[nodiscard]] bool reads() const { return reading_ == Reading::kAlways || flushed(); }

    Descriptor connection_;
    Reading reading_;
    std::string out_;
    std::size_t sent_ = 0;  // of out_
};

}  // namespace aliquot::rpc
