// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "sim/apiserver/http_connection.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::size_t kConnectionsMax = 4000;

Error system_failure(const std::string& subject) {
    const int number = errno;
    const ErrorCode code = number == EADDRINUSE ? ErrorCode::kConflict
                           : number == EACCES   ? ErrorCode::kPermission
                                                : ErrorCode::kUnavailable;
    return {code, subject + ": " + std::strerror(number)};
}

Result<int> open_listener(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const auto port =
        parse_integer(colon == std::string::npos ? std::string_view()
                                                 : std::string_view(address).substr(colon + 1));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    if (!port || *port < 0 || *port > 65535 ||
        inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr) != 1) {
        return Error{ErrorCode::kInvalidInput,
                     "address '" + address + "': expected IPV4:PORT, as 127.0.0.1:0"};
    }
    place.sin_port = htons(static_cast<std::uint16_t>(*port));
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return system_failure("socket");
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 ||
        ::listen(listener, 512) != 0) {
        Error error = system_failure("listen on " + address);
        ::close(listener);
        return error;
    }
    return listener;
}

class ThreadedServer final : public HttpServer {
public:
    ThreadedServer(int listener, TlsContext context, Handler handler)
        : listener_(listener), context_(std::move(context)), handler_(std::move(handler)) {
        sockaddr_in place{};
        socklen_t size = sizeof place;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
        port_ = ntohs(place.sin_port);
        acceptor_ = std::thread([this] { accept_all(); });
    }

    ThreadedServer(const ThreadedServer&) = delete;
    ThreadedServer& operator=(const ThreadedServer&) = delete;

    ~ThreadedServer() override {
        stopping_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        acceptor_.join();
        ::close(listener_);
        cut_connections();
        std::list<Slot> rest;
        {
            const std::lock_guard lock(guard_);
            rest.swap(slots_);
        }
        for (Slot& slot : rest) slot.thread.join();
        for (Slot& slot : rest) ::close(slot.socket);
    }

    [[nodiscard]] unsigned port() const override { return port_; }

    void cut_connections() override {
        const std::lock_guard lock(guard_);
        for (Slot& slot : slots_) {
            if (!slot.done) ::shutdown(slot.socket, SHUT_RDWR);
        }
    }

    [[nodiscard]] std::size_t connections() const override {
        const std::lock_guard lock(guard_);
        std::size_t open = 0;
        for (const Slot& slot : slots_) open += slot.done ? 0 : 1;
        return open;
    }

private:
    // The socket stays open until the thread is joined, so that its number cannot be reused while
    // someone may still shut it down.
    struct Slot {
        int socket = -1;
        std::atomic<bool> done = false;
        std::thread thread;
    };

    void accept_all() {
        while (!stopping_) {
            const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (socket < 0) {
                if (errno == EINTR || errno == ECONNABORTED) continue;
                if (stopping_) return;
                if (errno != EMFILE && errno != ENFILE) return;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until some close
                continue;
            }
            const int on = 1;
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            reap();
            const std::lock_guard lock(guard_);
            if (slots_.size() >= kConnectionsMax || stopping_) {
                ::close(socket);
                continue;
            }
            Slot& slot = slots_.emplace_back();
            slot.socket = socket;
            slot.thread = std::thread([this, &slot] {
                serve_connection(slot.socket, context_, handler_, stopping_);
                ::shutdown(slot.socket, SHUT_RDWR);
                slot.done = true;
            });
        }
    }

    void reap() {
        std::list<Slot> ended;
        {
            const std::lock_guard lock(guard_);
            for (auto at = slots_.begin(); at != slots_.end();) {
                const auto next = std::next(at);
                if (at->done) ended.splice(ended.end(), slots_, at);
                at = next;
            }
        }
        for (Slot& slot : ended) {
            slot.thread.join();
            ::close(slot.socket);
        }
    }

    int listener_;
    unsigned port_ = 0;
    TlsContext context_;
    Handler handler_;
    std::atomic<bool> stopping_ = false;
    mutable std::mutex guard_;
    std::list<Slot> slots_;
    std::thread acceptor_;
};

}  // namespace

HttpRequest read_request_target(std::string_view method, std::string_view target) {
    HttpRequest request;
    request.method = method;
    const std::size_t mark = target.find('?');
    const std::string_view path = target.substr(0, mark);
    request.path = decode_url(path, false);
    for (const std::string_view part : split(path, '/')) {
        if (!part.empty()) request.segments.push_back(decode_url(part, false));
    }
    if (mark == std::string_view::npos) return request;
    for (const std::string_view part : split(target.substr(mark + 1), '&')) {
        const std::size_t equals = part.find('=');
        request.query.emplace_back(
            decode_url(part.substr(0, equals), true),
            equals == std::string_view::npos ? "" : decode_url(part.substr(equals + 1), true));
    }
    return request;
}

std::string_view HttpRequest::parameter(std::string_view name) const {
    for (const auto& one : query) {
        if (one.first == name) return one.second;
    }
    return {};
}

bool HttpRequest::has_parameter(std::string_view name) const {
    for (const auto& one : query) {
        if (one.first == name) return true;
    }
    return false;
}

bool HttpRequest::flag(std::string_view name) const {
    if (!has_parameter(name)) return false;
    const std::string_view value = parameter(name);
    return value.empty() || value == "1" || value == "true" || value == "True";
}

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
    const auto found = headers.find(std::string(lower_case_name));
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, HttpTls tls,
                                                       Handler handler) {
    auto context = make_tls_context(tls);
    if (!context) return std::move(context).error();
    auto listener = open_listener(address);
    if (!listener) return std::move(listener).error();
    return std::unique_ptr<HttpServer>(
        std::make_unique<ThreadedServer>(*listener, std::move(*context), std::move(handler)));
}

}  // namespace aliquot::sim::apiserver
