// SPDX-License-Identifier: Apache-2.0
#include "rpc/call.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>

#include <array>
#include <exception>
#include <new>
#include <utility>

#include "base/number.h"
#include "rpc/body.h"
#include "rpc/exchange.h"
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
          exchange_(request),
          answer_(options.answer_bytes) {
        session_ = new_client_session(*new_callbacks(on_header, on_data, on_close), this);
    }
    ClientCall(const ClientCall&) = delete;
    ClientCall& operator=(const ClientCall&) = delete;
    ~ClientCall() = default;

    Result<std::string> run() {
        if (!submit_client_settings(*session_, kAnswerWindow) ||
            exchange_.submit(*session_, options_.path, options_.timeout, fill, this) < 0)
            throw std::bad_alloc();
        const auto end = Clock::now() + options_.timeout;
        bool open = transport_.write(*session_);
        while (open && !ended()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
            if (left.count() <= 0) return unavailable("no answer within " + timeout_text());
            std::array<pollfd, 2> waits{
                {{transport_.descriptor(), transport_.events(), 0}, {options_.cancel, POLLIN, 0}}};
            if (::poll(waits.data(), waits.size(), static_cast<int>(left.count())) <= 0) continue;
            if (waits[1].revents != 0) return unavailable("cancelled");
            if (waits[0].revents == 0) continue;
            open = transport_.read(*session_);
            if (!ended()) open = open && transport_.write(*session_);
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
            of(user).exchange_.take_header(text(name, name_size), text(value, value_size));
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }

    static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t /*id*/,
                       const std::uint8_t* data, std::size_t size, void* user) {
        try {
            auto status = of(user).answer_.add(text(data, size));
            if (!status.ok()) of(user).refused_ = std::move(status);
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }

    static int on_close(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint32_t error,
                        void* user) {
        of(user).exchange_.close(error);
        return 0;
    }

    static ssize_t fill(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* into,
                        std::size_t room, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                        void* user) {
        return of(user).exchange_.fill(into, room, *flags);
    }

    [[nodiscard]] bool ended() const { return exchange_.closed() || !refused_.ok(); }

    Result<std::string> outcome() {
        auto status = refused_.ok() ? exchange_.status() : refused_;
        if (status.ok()) status = answer_.check();
        if (!status.ok()) return to_error(status, options_.subject);
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
    Exchange exchange_;
    Body answer_;
    Status refused_;  // why the answer was not taken
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
