// SPDX-License-Identifier: Apache-2.0
#include "agent/http_endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/descriptor.h"

namespace aliquot::agent {
namespace {

constexpr std::size_t kMostRequestBytes = 8192;
constexpr std::chrono::milliseconds kConnectionLimit{2000};

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 503:
            return "Service Unavailable";
        default:
            return "Error";
    }
}

std::string render(const HttpAnswer& answer) {
    return "HTTP/1.1 " + std::to_string(answer.status) + " " +
           std::string(reason_of(answer.status)) + "\r\nContent-Type: " + answer.content_type +
           "\r\nContent-Length: " + std::to_string(answer.body.size()) +
           "\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n" + answer.body;
}

/// "GET /healthz?x HTTP/1.1" gives "/healthz".
HttpAnswer answer_to(std::string_view request, const HttpEndpoint::Handler& handler) {
    const std::size_t space = request.find(' ');
    const std::size_t end = space == std::string_view::npos ? space : request.find(' ', space + 1);
    if (end == std::string_view::npos || end > request.find("\r\n")) {
        return {.status = 400, .body = "not an HTTP request\n"};
    }
    if (request.substr(0, space) != "GET") return {.status = 405, .body = "only GET\n"};
    std::string_view path = request.substr(space + 1, end - space - 1);
    return handler(path.substr(0, path.find('?')));
}

void serve(int connection, const HttpEndpoint::Handler& handler) {
    const auto deadline = std::chrono::steady_clock::now() + kConnectionLimit;
    const auto ready = [&](short events) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd wanted{.fd = connection, .events = events, .revents = 0};
        return left.count() > 0 && ::poll(&wanted, 1, static_cast<int>(left.count())) == 1;
    };
    std::string request;
    std::array<char, 2048> chunk{};
    while (!request.contains("\r\n\r\n") && request.size() < kMostRequestBytes) {
        if (!ready(POLLIN)) return;
        const ssize_t got = ::recv(connection, chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got <= 0) return;
        request.append(chunk.data(), static_cast<std::size_t>(got));
    }
    const std::string text = render(answer_to(request, handler));
    for (std::string_view rest = text; !rest.empty();) {
        if (!ready(POLLOUT)) return;
        const ssize_t sent =
            ::send(connection, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
}

Result<Descriptor> listen_unix(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path) {
        return Error{ErrorCode::kInvalidInput, path.native() + ": longer than the " +
                                                   std::to_string(sizeof address.sun_path - 1) +
                                                   " bytes of a unix socket"};
    }
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    std::error_code problem;
    std::filesystem::create_directories(path.parent_path(), problem);
    if (problem) return os::error_from_errno(problem.value(), path.parent_path().native());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
    // Somebody answers there: another agent. Nobody does: what a killed one left.
    if (::connect(socket.get(), raw, sizeof address) == 0) {
        return Error{ErrorCode::kConflict, path.native() + ": another agent is listening"};
    }
    ::unlink(path.c_str());
    const mode_t before = ::umask(0177);
    const int bound = ::bind(socket.get(), raw, sizeof address);
    const int number = errno;
    ::umask(before);
    if (bound != 0) return os::error_from_errno(number, path.native());
    if (::listen(socket.get(), 16) != 0) return os::error_from_errno(errno, path.native());
    return socket;
}

Error not_an_address(std::string_view address) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(address) +
                "' is not unix:PATH or a loopback address such as 127.0.0.1:9401"};
}

Result<Descriptor> listen_loopback(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return not_an_address(address);
    const std::string_view host = address.substr(0, colon);
    const std::string_view digits = address.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [stop, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (problem != std::errc{} || stop != digits.data() + digits.size()) {
        return not_an_address(address);
    }
    sockaddr_storage storage{};
    socklen_t length = 0;
    if (host == "[::1]") {
        auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
        v6->sin6_family = AF_INET6;
        v6->sin6_addr = in6addr_loopback;
        v6->sin6_port = htons(port);
        length = sizeof *v6;
    } else {
        auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        length = sizeof *v4;
        if (::inet_pton(AF_INET, std::string(host).c_str(), &v4->sin_addr) != 1 ||
            (ntohl(v4->sin_addr.s_addr) >> 24U) != 127) {
            return not_an_address(address);
        }
    }
    Descriptor socket(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
        ::listen(socket.get(), 16) != 0) {
        if (errno == EADDRINUSE) {
            return Error{ErrorCode::kConflict, std::string(address) + ": in use"};
        }
        return os::error_from_errno(errno, address);
    }
    return socket;
}

}  // namespace

class HttpEndpoint::Implementation {
public:
    Implementation(Descriptor socket, std::filesystem::path unix_path, Handler handler)
        : socket_(std::move(socket)),
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          unix_path_(std::move(unix_path)),
          handler_(std::move(handler)),
          thread_([this](const std::stop_token& stop) { accept_until(stop); }) {}

    ~Implementation() {
        thread_.request_stop();
        const std::uint64_t one = 1;
        const ssize_t written = ::write(wake_.get(), &one, sizeof one);
        (void)written;
        thread_.join();
        if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
    }

    [[nodiscard]] unsigned port() const {
        sockaddr_storage storage{};
        socklen_t length = sizeof storage;
        if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
            return 0;
        }
        if (storage.ss_family == AF_INET) {
            return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
        }
        if (storage.ss_family == AF_INET6) {
            return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
        }
        return 0;
    }

private:
    void accept_until(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::array<pollfd, 2> wanted{{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                          {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
            if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return;
            if ((wanted[0].revents & POLLIN) == 0) continue;
            const Descriptor connection(
                ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (connection.get() >= 0) serve(connection.get(), handler_);
        }
    }

    Descriptor socket_;
    Descriptor wake_;
    std::filesystem::path unix_path_;
    Handler handler_;
    std::jthread thread_;  // last: it uses all the others
};

HttpEndpoint::HttpEndpoint(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
HttpEndpoint::~HttpEndpoint() = default;
unsigned HttpEndpoint::port() const { return implementation_->port(); }

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::listen(const os::Root& root,
                                                           std::string_view address,
                                                           Handler handler) {
    constexpr std::string_view kUnix = "unix:";
    std::filesystem::path path;
    if (address.starts_with(kUnix)) path = root.resolve(address.substr(kUnix.size()));
    auto socket = path.empty() ? listen_loopback(address) : listen_unix(path);
    if (!socket) return std::move(socket).error();
    return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(
        std::make_unique<Implementation>(*std::move(socket), std::move(path), std::move(handler))));
}

}  // namespace aliquot::agent
