// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "http/test_client.h"

namespace aliquot::http {
namespace {

std::string long_text() {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += "a_metric{pod=\"p\"} " + std::to_string(i) + "\n";
    return text;
}

Response echo(const Request& request) {
    if (request.path == "/long") return {.body = long_text()};
    if (request.path == "/throw") throw std::runtime_error("on purpose");
    if (request.path == "/head")
        return {.body = "12345", .headers = {{"X-Method", request.method}}};
    if (request.path == "/body") return {.body = request.body};
    return {.status = request.path == "/" ? 200 : 404, .body = request.path + "\n"};
}

std::unique_ptr<Server> started(ServerOptions options = {}, Handler handler = echo) {
    options.address = "127.0.0.1:0";
    auto server = Server::listen(std::move(options), std::move(handler));
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

TEST(Server, AnswersManyRequestsOnOneConnection) {
    const auto server = started();
    TestClient client(server->port());
    for (int i = 0; i < 20; ++i) {
        const auto answer = client.get("/");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->body, "/\n");
        EXPECT_EQ(answer->headers.at("connection"), "keep-alive");
        EXPECT_EQ(answer->headers.count("server"), 0U);
        EXPECT_EQ(answer->headers.count("date"), 1U);
    }
    EXPECT_EQ(client.get("/none")->status, 404);
}

TEST(Server, AnswersInOrderWhatIsAskedAtOnce) {
    const auto server = started();
    TestClient client(server->port());
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3");
    EXPECT_EQ(client.receive()->body, "/1\n");
    EXPECT_EQ(client.receive()->body, "/2\n");
    client.send(" HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.receive()->body, "/3\n");
}

TEST(Server, ClosesWhenAskedTo) {
    const auto server = started();
    TestClient client(server->port());
    const auto answer = client.get("/", "Connection: close\r\n");
    EXPECT_EQ(answer->headers.at("connection"), "close");
    EXPECT_TRUE(client.ends());
    TestClient old(server->port());
    old.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.receive()->body, "/\n");
    EXPECT_TRUE(old.ends());
}

TEST(Server, HeadIsGetWithoutBody) {
    const auto server = started();
    TestClient client(server->port());
    client.send("HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = client.receive(true);
    EXPECT_EQ(answer->headers.at("content-length"), "5");
    EXPECT_EQ(answer->headers.at("x-method"), "GET");
    EXPECT_EQ(client.get("/head")->body, "12345");
}

TEST(Server, OtherMethodsAreRefusedByName) {
    const auto server = started();
    TestClient client(server->port());
    client.send("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = client.receive();
    EXPECT_EQ(answer->status, 405);
    EXPECT_EQ(answer->headers.at("allow"), "GET, HEAD");
}

TEST(Server, TakesABodyWhereItIsWanted) {
    const auto server = started({.methods = {"GET", "POST"}, .most_body_bytes = 100});
    TestClient client(server->port());
    client.send(
        "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    const auto go_on = client.receive();
    ASSERT_TRUE(go_on);
    EXPECT_EQ(go_on->status, 100);
    client.send("he");
    client.send("llo");
    EXPECT_EQ(client.receive()->body, "hello");
}

TEST(Server, CompressesForWhoTakesIt) {
    const auto server = started();
    TestClient client(server->port());
    const auto packed = client.get("/long", "Accept-Encoding: gzip\r\n");
    EXPECT_EQ(packed->headers.at("content-encoding"), "gzip");
    EXPECT_EQ(packed->headers.at("vary"), "Accept-Encoding");
    EXPECT_EQ(gunzip(packed->body), long_text());
    const auto plain = client.get("/long", "Accept-Encoding: gzip;q=0\r\n");
    EXPECT_EQ(plain->headers.count("content-encoding"), 0U);
    EXPECT_EQ(plain->body, long_text());
}

TEST(Server, AHandlerThatThrowsIsAnError500) {
    const auto server = started();
    TestClient client(server->port());
    EXPECT_EQ(client.get("/throw")->status, 500);
    EXPECT_EQ(client.get("/")->status, 200);
}

TEST(Server, ManyConnectionsAtOnceAreServedByFewThreads) {
    std::atomic<unsigned> at_once{0};
    std::atomic<unsigned> most{0};
    const auto server = started({.threads = 3, .most_connections = 64}, [&](const Request&) {
        const unsigned now = ++at_once;
        unsigned seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        Response answer{.body = long_text()};
        --at_once;
        return answer;
    });
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 64; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
    for (int round = 0; round < 3; ++round) {
        for (auto& client : clients) client->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        for (auto& client : clients) {
            const auto answer = client->receive();
            ASSERT_TRUE(answer);
            EXPECT_EQ(answer->body.size(), long_text().size());
        }
    }
    EXPECT_LE(most.load(), 3U);
}

TEST(Server, AnswersWhatIsInTheHandlerBeforeItEnds) {
    std::latch entered(1);
    std::latch leave(1);
    auto server = started({}, [&](const Request&) {
        entered.count_down();
        leave.wait();
        return Response{.body = "done"};
    });
    TestClient client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    entered.wait();
    std::thread ending([&] { server.reset(); });
    leave.count_down();
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "done");
    EXPECT_TRUE(client.ends());
    ending.join();
}

TEST(Server, AClientThatGoesAwayHurtsNobody) {
    std::latch entered(1);
    std::latch leave(1);
    const auto server = started({}, [&](const Request& request) {
        if (request.path == "/gone") {
            entered.count_down();
            leave.wait();
        }
        return Response{.body = std::string(4U << 20U, 'x')};
    });
    {
        TestClient client(server->port());
        client.send("GET /gone HTTP/1.1\r\nHost: a\r\n\r\n");
        entered.wait();
    }
    leave.count_down();
    TestClient other(server->port());
    EXPECT_EQ(other.get("/")->body.size(), 4U << 20U);
}

TEST(Server, AnAddressThatIsNoneOrTakenIsNamed) {
    const auto server = started();
    for (const char* bad : {"", "9400", "here:1", "127.0.0.1:x", "127.0.0.1:70000", "::1:9400"}) {
        const auto none = Server::listen({.address = bad}, echo);
        ASSERT_FALSE(none) << bad;
        EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput) << none.error().message;
    }
    const auto taken =
        Server::listen({.address = "127.0.0.1:" + std::to_string(server->port())}, echo);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
}

TEST(Server, ListensOnAllAddressesWithoutAHost) {
    auto server = Server::listen({.address = ":0"}, echo);
    ASSERT_TRUE(server) << server.error().message;
    TestClient client((*server)->port());
    EXPECT_EQ(client.get("/")->status, 200);
}

}  // namespace
}  // namespace aliquot::http
