// SPDX-License-Identifier: Apache-2.0
#include "rpc/call.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/number.h"
#include "rpc/body.h"
#include "rpc/transport.h"

namespace aliquot::rpc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kAnswerWindow = 4 << 20;

/// The one call of a client's session. Not thread-safe.
class ClientCall {
public:
    ClientCall(Descriptor connection, std::string_view request, const CallOptions& options)
        : options_(options),
          transport_(std::move(connection)),
          request_(framed(request)),
          answer_(options.answer_bytes) {
        nghttp2_session_callbacks* made = nullptr;
        if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
        const Callbacks callbacks(made);
        nghttp2_session_callbacks_set_on_header_callback(made, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
        nghttp2_session* session = nullptr;
        if (nghttp2_session_client_new(&session, made, this) != 0) throw std::bad_alloc();
        session_.reset(session);
    }
    ClientCall(const ClientCall&) = delete;
    ClientCall& operator=(const ClientCall&) = delete;
    ~ClientCall() = default;

    Result<std::string> run() {
        submit();
        const auto end = Clock::now() + options_.timeout;
        bool open = transport_.write(*session_);
        while (open && !ended_) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
            if (left.count() <= 0) return unavailable("no answer within " + timeout_text());
            std::array<pollfd, 2> waits{
                {{transport_.descriptor(), transport_.events(), 0}, {options_.cancel, POLLIN, 0}}};
            if (::poll(waits.data(), waits.size(), static_cast<int>(left.count())) <= 0) continue;
            if (waits[1].revents != 0) return unavailable("cancelled");
            if (waits[0].revents == 0) continue;
            open = transport_.read(*session_);
            if (!ended_) open = open && transport_.write(*session_);
        }
        return outcome();
    }

private:
    static ClientCall& of(void* user) { return *static_cast<ClientCall*>(user); }
    static std::string_view text(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};  // NOLINT(*reinterpret-cast)
    }

    static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                         const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                         std::size_t value_size, std::uint8_t /*flags*/, void* user) {
        try {
            of(user).take_header(text(name, name_size), text(value, value_size));
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }

    static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t /*id*/,
                       const std::uint8_t* data, std::size_t size, void* user) {
        try {
            auto status = of(user).answer_.add(text(data, size));
            if (status.ok()) return 0;
            of(user).refused_ = std::move(status);
            of(user).ended_ = true;
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }

    static int on_close(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint32_t error,
                        void* user) {
        of(user).ended_ = true;
        of(user).reset_ = error;
        return 0;
    }

    static ssize_t fill(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* into,
                        std::size_t room, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                        void* user) {
        auto& self = of(user);
        const auto length = std::min(room, self.request_.size() - self.sent_);
        std::memcpy(into, self.request_.data() + self.sent_, length);
        self.sent_ += length;
        if (self.sent_ == self.request_.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(length);
    }

    void submit() {
        const nghttp2_settings_entry settings{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kAnswerWindow};
        const nghttp2_settings_entry push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
        const std::array both{settings, push};
        const std::string deadline = std::to_string(options_.timeout.count()) + "m";
        const auto headers = fields({{":method", "POST"},
                                     {":scheme", "http"},
                                     {":path", options_.path},
                                     {":authority", "localhost"},
                                     {"content-type", "application/grpc"},
                                     {"te", "trailers"},
                                     {"grpc-timeout", deadline}});
        const nghttp2_data_provider source{.source = {.ptr = this}, .read_callback = fill};
        if (nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, both.data(), both.size()) !=
                0 ||
            nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                                  kAnswerWindow) != 0 ||
            nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(), &source,
                                   nullptr) < 0)
            throw std::bad_alloc();
    }

    void take_header(std::string_view name, std::string_view value) {
        if (name == ":status") http_status_ = value;
        if (name == "grpc-status") code_ = parse_code(value);
        if (name == "grpc-message") message_ = decode_message(value);
    }

    Result<std::string> outcome() {
        if (!refused_.ok()) return to_error(refused_, options_.subject);
        if (code_ && *code_ != Code::kOk) return to_error({*code_, message_}, options_.subject);
        if (!http_status_.empty() && http_status_ != "200")
            return unavailable("HTTP status " + http_status_ + " instead of a gRPC answer");
        if (!ended_) return unavailable("the connection was closed before the answer");
        if (!code_)
            return unavailable(reset_ != 0 ? std::string("the call was reset: ") +
                                                 nghttp2_http2_strerror(reset_)
                                           : "the answer has no gRPC status");
        if (const auto whole = answer_.check(); !whole.ok())
            return to_error(whole, options_.subject);
        return std::string(answer_.message());
    }

    [[nodiscard]] Error unavailable(const std::string& words) const {
        return {ErrorCode::kUnavailable, options_.subject + ": " + words};
    }
    [[nodiscard]] std::string timeout_text() const {
        return decimal_text(static_cast<double>(options_.timeout.count()) / 1000) + " s";
    }

    const CallOptions& options_;
    Transport transport_;
    const std::string request_;
    std::size_t sent_ = 0;  // of request_
    Body answer_;
    Status refused_;  // why the answer was not taken
    std::string http_status_;
    std::optional<Code> code_;
    std::string message_;
    bool ended_ = false;
    std::uint32_t reset_ = 0;  // the error code that it ended with
    Session session_;
};

}  // namespace

Result<std::string> call(Descriptor connection, std::string_view request,
                         const CallOptions& options) {
    try {
        return ClientCall(std::move(connection), request, options).run();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kUnavailable, options.subject + ": no memory"};
    }
}

}  // namespace aliquot::rpc
