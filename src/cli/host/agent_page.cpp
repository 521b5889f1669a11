// SPDX-License-Identifier: Apache-2.0
#include "cli/host/agent_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/number.h"

namespace aliquot::cli {
namespace {

constexpr std::chrono::milliseconds kDeadline{3000};
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

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

Error no_answer(std::string_view address, const std::string& why) {
    return {ErrorCode::kUnavailable, "node agent at " + std::string(address) + ": " + why};
}

/// The body of a 200; else what is wrong with it.
Result<std::string> body_of(std::string_view address, std::string answer) {
    const std::size_t head = answer.find("\r\n\r\n");
    const std::size_t blank = answer.find(' ');
    if (!answer.starts_with("HTTP/") || head == std::string::npos || blank > head) {
        return no_answer(address, "does not answer as one");
    }
    const std::string status = answer.substr(blank + 1, 3);
    if (status != "200") return no_answer(address, "answers " + status);
    answer.erase(0, head + 4);
    return answer;
}

}  // namespace

std::string usual_agent() {
    const char* const named =
        std::getenv("ALIQUOT_AGENT");  // NOLINT(concurrency-mt-unsafe): at start
    return named == nullptr || *named == '\0' ? std::string(kAgentAddress) : named;
}

Result<std::string> ask_agent(std::string_view address, std::string_view path) {
    const auto where = parse(address);
    if (!where) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + std::string(address) +
                         "' is not an agent address; expected unix:/run/aliquot/agent.sock or "
                         "127.0.0.1:PORT"};
    }
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    const Socket socket(where->family);
    if (socket.fd() < 0) return no_answer(address, "no socket to be had");
    if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&where->storage), where->length) !=
        0) {
        int problem = errno;
        if (problem == EINPROGRESS) {
            socklen_t size = sizeof problem;
            if (!wait_for(socket.fd(), POLLOUT, end)) return no_answer(address, "does not answer");
            ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &size);
        }
        const std::string who = "node agent at " + std::string(address);
        if (problem == ENOENT || problem == ECONNREFUSED) {
            return Error{ErrorCode::kNotFound, who + ": nobody listens there"};
        }
        if (problem == EACCES || problem == EPERM) {
            return Error{ErrorCode::kPermission,
                         who + ": may not be asked by this user; run as root"};
        }
        if (problem != 0) return no_answer(address, "cannot be reached");
    }
    const std::string request = "GET " + std::string(path) + " HTTP/1.0\r\nHost: node\r\n\r\n";
    if (!wait_for(socket.fd(), POLLOUT, end) ||
        ::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
        return no_answer(address, "takes no question");
    }
    std::string answer;
    std::array<char, 16384> chunk{};
    while (answer.size() < kMostBytes) {
        if (!wait_for(socket.fd(), POLLIN, end)) return no_answer(address, "does not answer");
        const ssize_t got = ::recv(socket.fd(), chunk.data(), chunk.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0) return no_answer(address, "breaks off its answer");
        if (got == 0) return body_of(address, std::move(answer));
        answer.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return no_answer(address, "does not end its answer");
}

}  // namespace aliquot::cli
