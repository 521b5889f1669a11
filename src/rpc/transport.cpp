// SPDX-License-Identifier: Apache-2.0
#include "rpc/transport.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <new>

namespace aliquot::rpc {
namespace {

constexpr std::size_t kOutBytes = 256 << 10;  // gathered before they are sent
constexpr std::size_t kReadBytes = 16 << 10;
constexpr int kReadsAtOnce = 16;  // then others have their turn

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

std::uint8_t* bytes_of(std::string_view text) {
    // nghttp2 copies them; its type has no const.
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT
}

}  // namespace

void SessionEnd::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

void CallbacksEnd::operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
}

Callbacks new_callbacks(nghttp2_on_header_callback on_header,
                        nghttp2_on_data_chunk_recv_callback on_data,
                        nghttp2_on_stream_close_callback on_close) {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_header_callback(made, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
    return Callbacks(made);
}

Session new_client_session(const nghttp2_session_callbacks& callbacks, void* user) {
    nghttp2_session* session = nullptr;
    if (nghttp2_session_client_new(&session, &callbacks, user) != 0) throw std::bad_alloc();
    return Session(session);
}

Fields fields(std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
    Fields made;
    made.reserve(all.size());
    for (const auto& [name, value] : all)
        made.push_back(
            {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    return made;
}

bool Transport::read(nghttp2_session& session) {
    std::array<std::uint8_t, kReadBytes> buffer;  // NOLINT(*member-init): recv fills it
    for (int i = 0; i < kReadsAtOnce && reads(); ++i) {
        const auto length = ::recv(connection_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (length == 0) return false;
        if (length < 0) {
            if (errno == EINTR) continue;
            return would_block();
        }
        const auto size = static_cast<std::size_t>(length);
        if (nghttp2_session_mem_recv(&session, buffer.data(), size) != length) return false;
        if (size < buffer.size()) return true;
    }
    return true;
}

bool Transport::write(nghttp2_session& session) {
    for (;;) {
        if (!flushed()) {
            if (!send()) return false;
            if (!flushed()) return true;
        }
        out_.clear();
        sent_ = 0;
        while (out_.size() < kOutBytes) {
            const std::uint8_t* data = nullptr;
            const auto length = nghttp2_session_mem_send(&session, &data);
            if (length < 0) return false;
            if (length == 0) break;
            out_.append(reinterpret_cast<const char*>(data),  // NOLINT(*reinterpret-cast)
                        static_cast<std::size_t>(length));
        }
        if (out_.empty())
            return nghttp2_session_want_read(&session) != 0 ||
                   nghttp2_session_want_write(&session) != 0;
    }
}

short Transport::events() const {
    return static_cast<short>((reads() ? POLLIN : 0) | (flushed() ? 0 : POLLOUT));
}

bool Transport::send() {
    while (!flushed()) {
        const auto length = ::send(connection_.get(), out_.data() + sent_, out_.size() - sent_,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (length < 0) {
            if (errno == EINTR) continue;
            return would_block();
        }
        sent_ += static_cast<std::size_t>(length);
    }
    return true;
}

}  // namespace aliquot::rpc
