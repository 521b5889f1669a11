// SPDX-License-Identifier: Apache-2.0
#include "agent/http_endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

std::string ask(unsigned port, std::string_view request) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    std::string answer;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
        std::array<char, 4096> chunk{};
        for (ssize_t got = 0; (got = ::recv(fd, chunk.data(), chunk.size(), 0)) > 0;) {
            answer.append(chunk.data(), static_cast<std::size_t>(got));
        }
    }
    ::close(fd);
    return answer;
}

HttpAnswer echo(std::string_view path) { return {.body = "you asked for " + std::string(path)}; }

TEST(HttpEndpoint, AnswersAGet) {
    const auto http = HttpEndpoint::listen(os::Root(), "127.0.0.1:0", echo);
    ASSERT_TRUE(http) << http.error().message;
    const std::string answer =
        ask((*http)->port(), "GET /healthz?verbose HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nyou asked for /healthz")) << answer;
}

TEST(HttpEndpoint, RefusesOtherMethodsAndNonsense) {
    const auto http = HttpEndpoint::listen(os::Root(), "127.0.0.1:0", echo);
    ASSERT_TRUE(http);
    EXPECT_TRUE(ask((*http)->port(), "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    EXPECT_TRUE(ask((*http)->port(), "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    EXPECT_TRUE(ask((*http)->port(), std::string(9000, 'x')).find("200 OK") == std::string::npos);
}

TEST(HttpEndpoint, ListensNowhereButHere) {
    for (const auto* address : {"0.0.0.0:0", "10.0.0.1:80", "[::]:1", "example.com:1", "127.0.0.1",
                                "127.0.0.1:x", "127.0.0.1:99999", ""}) {
        const auto http = HttpEndpoint::listen(os::Root(), address, echo);
        ASSERT_FALSE(http) << address;
        EXPECT_EQ(http.error().code, ErrorCode::kInvalidInput) << address;
    }
}

TEST(HttpEndpoint, ReplacesADeadSocketButNotALivingOne) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    {
        const auto first = HttpEndpoint::listen(root, "unix:/run/agent.sock", echo);
        ASSERT_TRUE(first) << first.error().message;
        const auto second = HttpEndpoint::listen(root, "unix:/run/agent.sock", echo);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    }
    EXPECT_FALSE(root.exists("/run/agent.sock"));
    ASSERT_TRUE(root.write_atomically("/run/agent.sock", "left over"));
    EXPECT_TRUE(HttpEndpoint::listen(root, "unix:/run/agent.sock", echo));
}

}  // namespace
}  // namespace aliquot::agent
