// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <latch>
#include <optional>
#include <set>
#include <thread>

#include "http/server.h"
#include "http/test_client.h"

namespace aliquot::http {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Server> started(
    ServerOptions options,
    Handler handler = [](const Request&) { return Response{.body = "ok"}; }) {
    options.address = "127.0.0.1:0";
    auto server = Server::listen(std::move(options), std::move(handler));
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

TEST(ServerLimits, ABodyThatIsTooLongIsRefusedUnread) {
    const auto server = started({.most_body_bytes = 100});
    TestClient client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(answer->headers.at("connection"), "close");
    EXPECT_TRUE(client.ends());
}

TEST(ServerLimits, HeadersAndTargetsThatAreTooLongAreRefused) {
    const auto server = started({});
    TestClient fields(server->port());
    const auto refused = fields.get("/", "A: " + std::string(20000, 'x') + "\r\n");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 431);
    TestClient target(server->port());
    const auto too_long = target.get("/" + std::string(9000, 'x'));
    ASSERT_TRUE(too_long);
    EXPECT_EQ(too_long->status, 414);
}

TEST(ServerLimits, WhatIsNoHttpIsRefusedAtOnce) {
    const auto server = started({});
    TestClient client(server->port());
    client.send("\x16\x03\x01\x02");
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
}

TEST(ServerLimits, ARequestThatNeverEndsIsCutOff) {
    const auto server = started({.request_limit = milliseconds(50)});
    TestClient slow(server->port());
    slow.send("GET / HTTP/1.1\r\nHost: ");
    TestClient silent(server->port());
    EXPECT_TRUE(slow.ends());
    EXPECT_TRUE(silent.ends());
}

TEST(ServerLimits, SlowClientsTakeNoThread) {
    const auto server = started({.threads = 1});
    std::vector<std::unique_ptr<TestClient>> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(std::make_unique<TestClient>(server->port()));
        slow.back()->send("GET / HTTP/1.1\r\nHo");
    }
    TestClient client(server->port());
    EXPECT_EQ(client.get("/")->status, 200);
    for (auto& other : slow) {
        other->send("st: a\r\n\r\n");
        EXPECT_EQ(other->receive()->status, 200);
    }
}

TEST(ServerLimits, AnIdleConnectionIsClosed) {
    const auto server = started({.idle_limit = milliseconds(50)});
    TestClient client(server->port());
    EXPECT_EQ(client.get("/")->status, 200);
    EXPECT_TRUE(client.ends());
}

TEST(ServerLimits, AFurtherConnectionTakesThePlaceOfAnIdleOne) {
    const auto server = started({.most_connections = 2});
    TestClient first(server->port());
    EXPECT_EQ(first.get("/")->status, 200);
    TestClient second(server->port());
    EXPECT_EQ(second.get("/")->status, 200);
    TestClient third(server->port());
    EXPECT_EQ(third.get("/")->status, 200);
    EXPECT_TRUE(first.ends());
    EXPECT_EQ(second.get("/")->status, 200);
}

TEST(ServerLimits, AFurtherConnectionIsClosedWhenAllAreAtWork) {
    std::latch entered(1);
    std::latch leave(1);
    const auto server = started({.most_connections = 1}, [&](const Request&) {
        entered.count_down();
        leave.wait();
        return Response{.body = "ok"};
    });
    TestClient first(server->port());
    first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    entered.wait();
    TestClient second(server->port());
    EXPECT_TRUE(second.ends());
    leave.count_down();
    EXPECT_EQ(first.receive()->status, 200);
}

TEST(ServerLimits, AnAnswerThatNobodyReadsIsGivenUp) {
    const auto body = std::make_shared<const std::string>(std::string(32UL << 20U, 'x'));
    std::latch asked(1);
    const auto server = started({.request_limit = milliseconds(50)}, [&](const Request&) {
        Response answer{.shared_body = body};
        asked.count_down();  // from here on somebody has the body
        return answer;
    });
    TestClient lazy(server->port());
    lazy.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    asked.wait();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (body.use_count() > 1 && std::chrono::steady_clock::now() < limit) {
        std::this_thread::yield();
    }
    EXPECT_EQ(body.use_count(), 1);
    EXPECT_TRUE(lazy.ends());  // what was under way comes, then the end
}

/// The flags of an open descriptor, as the kernel tells them.
std::optional<unsigned long> flags_of(int descriptor) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
    std::string word;
    while (info >> word && word != "flags:") {
    }
    unsigned long flags = 0;
    if (info >> std::oct >> flags) return flags;
    return std::nullopt;
}

TEST(ServerLimits, DescriptorsAreNotInherited) {
    std::set<int> before;
    for (int descriptor = 0; descriptor < 200; ++descriptor) {
        if (flags_of(descriptor)) before.insert(descriptor);
    }
    const auto server = started({});
    TestClient client(server->port());
    EXPECT_EQ(client.get("/")->status, 200);
    unsigned ours = 0;
    for (int descriptor = 0; descriptor < 200; ++descriptor) {
        const auto flags = before.contains(descriptor) ? std::nullopt : flags_of(descriptor);
        if (!flags) continue;
        ++ours;
        EXPECT_NE(*flags & 02000000UL, 0UL) << descriptor;  // O_CLOEXEC
    }
    EXPECT_GE(ours, 5U);
}

}  // namespace
}  // namespace aliquot::http
