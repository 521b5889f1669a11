// SPDX-License-Identifier: Apache-2.0
#include "cli/local_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{32} << 20;

class Socket {
public:
    explicit Socket(int family)
        : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
    ~Socket() {
        if (fd_ >= 0) ::close(fd_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
    int family = AF_UNIX;
};

std::optional<Address> parse(std::string_view text) {
    Address address;
    if (text.starts_with("unix:")) {
        sockaddr_un path{};
        path.sun_family = AF_UNIX;
        text.remove_prefix(5);
        if (text.empty() || text.size() >= sizeof path.sun_path) return std::nullopt;
        std::memcpy(path.sun_path, text.data(), text.size());
        std::memcpy(&address.storage, &path, sizeof path);
        address.length = sizeof path;
        return address;
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1)).value_or(0);
    if (port == 0) return std::nullopt;
    sockaddr_in ip{};
    ip.sin_family = AF_INET;
    ip.sin_port = htons(port);
    const std::string host(text.substr(0, colon));
    if (::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &ip.sin_addr) != 1) {
        return std::nullopt;
    }
    std::memcpy(&address.storage, &ip, sizeof ip);
    address.length = sizeof ip;
    address.family = AF_INET;
    return address;
}

bool wait_for(int fd, short what, std::chrono::steady_clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd one{.fd = fd, .events = what, .revents = 0};
    return left.count() > 0 && ::poll(&one, 1, static_cast<int>(left.count())) == 1;
}

Error no_answer(const Asked& asked, const std::string& why) {
    return {ErrorCode::kUnavailable, asked.who + " at " + asked.address + ": " + why};
}

Result<Answer> answer_in(const Asked& asked, std::string text) {
    const std::size_t head = text.find("\r\n\r\n");
    const std::size_t blank = text.find(' ');
    if (!text.starts_with("HTTP/") || head == std::string::npos || blank > head) {
        return no_answer(asked, "does not answer as one");
    }
    Answer answer;
    answer.status = parse_number<int>(std::string_view(text).substr(blank + 1, 3)).value_or(0);
    answer.head = lower(std::string_view(text).substr(0, head + 2));
    text.erase(0, head + 4);
    answer.body = std::move(text);
    return answer;
}

Result<Done> connect_to(const Asked& asked, const Address& where, int socket,
                        std::chrono::steady_clock::time_point end) {
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&where.storage), where.length) == 0) {
        return Done{};
    }
    int problem = errno;
    if (problem == EINPROGRESS) {
        socklen_t size = sizeof problem;
        if (!wait_for(socket, POLLOUT, end)) return no_answer(asked, "does not answer");
        ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
    }
    const std::string who = asked.who + " at " + asked.address;
    if (problem == ENOENT || problem == ECONNREFUSED) {
        return Error{ErrorCode::kNotFound, who + ": nobody listens there"};
    }
    if (problem == EACCES || problem == EPERM) {
        return Error{ErrorCode::kPermission, who + ": may not be asked by this user; run as root"};
    }
    if (problem != 0) return no_answer(asked, "cannot be reached");
    return Done{};
}

bool send_all(int socket, std::string_view bytes, std::chrono::steady_clock::time_point end) {
    while (!bytes.empty()) {
        if (!wait_for(socket, POLLOUT, end)) return false;
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace

std::string Answer::header(std::string_view lower_case_name) const {
    const auto rest = after(head, "\r\n" + std::string(lower_case_name) + ": ");
    return std::string(rest.substr(0, rest.find("\r\n")));
}

Result<Answer> ask(const Asked& asked) {
    const auto where = parse(asked.address);
    if (!where) {
        return Error{ErrorCode::kInvalidInput, "'" + asked.address + "' is not an address of a " +
                                                   asked.who +
                                                   "; expected unix:PATH or 127.0.0.1:PORT"};
    }
    const auto end = std::chrono::steady_clock::now() + asked.deadline;
    const Socket socket(where->family);
    if (socket.fd() < 0) return no_answer(asked, "no socket to be had");
    if (auto there = connect_to(asked, *where, socket.fd(), end); !there) {
        return std::move(there).error();
    }
    std::string request = asked.method + " " + asked.path + " HTTP/1.0\r\nHost: node\r\n";
    for (const auto& [name, value] : asked.headers) request += name + ": " + value + "\r\n";
    if (!asked.body.empty()) {
        request += "Content-Length: " + std::to_string(asked.body.size()) + "\r\n";
    }
    request += "\r\n" + asked.body;
    // A refusal may come before all of it is taken.
    (void)send_all(socket.fd(), request, end);
    std::string answer;
    std::array<char, 65'536> chunk{};
    while (answer.size() < kMostBytes) {
        if (!wait_for(socket.fd(), POLLIN, end)) return no_answer(asked, "does not answer");
        const ssize_t got = ::recv(socket.fd(), chunk.data(), chunk.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0 && answer.empty()) return no_answer(asked, "breaks off its answer");
        if (got <= 0) return answer_in(asked, std::move(answer));
        answer.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return no_answer(asked, "does not end its answer");
}

}  // namespace aliquot::cli
