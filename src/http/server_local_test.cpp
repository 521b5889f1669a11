// SPDX-License-Identifier: Apache-2.0
// A server that only this host reaches.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "http/address.h"
#include "http/server.h"
#include "os/temporary_directory.h"

namespace aliquot::http {
namespace {

/// All that comes back until the server closes.
std::string ask(const std::string& path, std::string_view request) {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    std::string answer;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) <= 0) {
        return answer;
    }
    std::array<char, 4096> chunk{};
    for (ssize_t got = 0; (got = ::recv(socket.get(), chunk.data(), chunk.size(), 0)) > 0;) {
        answer.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return answer;
}

Response echo(const Request& request) { return {.body = "you asked for " + request.path}; }

class LocalServer : public testing::Test {
protected:
    Result<std::unique_ptr<Server>> listen() {
        return Server::listen({.address = "unix:" + socket_}, echo);
    }
    os::TemporaryDirectory directory_;
    const std::string socket_ = directory_.path() / "run" / "agent.sock";
};

TEST_F(LocalServer, AnswersAtASocketThatSomebodyElseHasMadeAndLeavesItsFile) {
    auto made = listen_on("unix:" + socket_);
    ASSERT_TRUE(made) << made.error().message;
    {
        const auto server = Server::take(*std::move(made), {}, echo);
        ASSERT_TRUE(server) << server.error().message;
        EXPECT_TRUE(ask(socket_, "GET /x HTTP/1.0\r\n\r\n").ends_with("you asked for /x"));
    }
    EXPECT_TRUE(std::filesystem::is_socket(socket_));
}

TEST_F(LocalServer, AnswersAGet) {
    const auto server = listen();
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_EQ((*server)->port(), 0U);
    const std::string answer =
        ask(socket_, "GET /healthz?verbose HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nyou asked for /healthz")) << answer;
    EXPECT_TRUE(ask(socket_, "GET /status HTTP/1.0\r\n\r\n").ends_with("you asked for /status"));
}

TEST_F(LocalServer, RefusesOtherMethodsAndNonsense) {
    const auto server = listen();
    ASSERT_TRUE(server);
    EXPECT_TRUE(ask(socket_, "POST / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405"));
    EXPECT_TRUE(ask(socket_, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    EXPECT_FALSE(ask(socket_, std::string(9000, 'x')).contains("200 OK"));
}

TEST_F(LocalServer, IsForItsOwnerOnly) {
    const auto server = listen();
    struct stat status {};
    ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LocalServer, IsForAsManyAsItsModeSays) {
    const auto server = Server::listen(
        {.address = "unix:" + socket_, .socket_mode = 0660, .socket_group = ::getegid()}, echo);
    ASSERT_TRUE(server) << server.error().message;
    struct stat status {};
    ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0660U);
    EXPECT_EQ(status.st_gid, ::getegid());
}

TEST_F(LocalServer, KnowsWhoseProcessAsks) {
    const auto server =
        Server::listen({.address = "unix:" + socket_}, [](const Request& request) -> Response {
            if (!request.local_user) return {.body = "nobody"};
            return {.body = "uid " + std::to_string(request.local_user->uid)};
        });
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_TRUE(ask(socket_, "GET / HTTP/1.0\r\n\r\n")
                    .ends_with("\r\n\r\nuid " + std::to_string(::geteuid())));
}

TEST_F(LocalServer, ReplacesADeadSocketButNotALivingOne) {
    {
        const auto first = listen();
        ASSERT_TRUE(first) << first.error().message;
        const auto second = listen();
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    }
    EXPECT_FALSE(std::filesystem::exists(socket_));
    std::ofstream(socket_) << "left over";
    EXPECT_TRUE(listen());
}

TEST(LocalAddress, IsOneThatNobodyElseReaches) {
    for (const auto* address : {"127.0.0.1:0", "127.1.2.3:80", "[::1]:9401", "unix:/run/a.sock"}) {
        EXPECT_TRUE(check_local(address)) << address;
    }
    const std::string too_long = "unix:/" + std::string(200, 'x');
    for (const std::string_view address :
         {"0.0.0.0:0", "10.0.0.1:80", "[::]:1", ":9400", "example.com:1", "127.0.0.1",
          "127.0.0.1:x", "127.0.0.1:99999", "", "unix:", "unix:run/a.sock", too_long.c_str()}) {
        const auto checked = check_local(address);
        ASSERT_FALSE(checked) << address;
        EXPECT_EQ(checked.error().code, ErrorCode::kInvalidInput) << address;
    }
}

}  // namespace
}  // namespace aliquot::http
