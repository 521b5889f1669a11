// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "http/server.h"
#include "http/test_client.h"

namespace aliquot::http {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Server> started(std::function<void(Stream&)> writer, ServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto server = Server::listen(std::move(options), [writer](const Request& request) {
        if (request.path == "/none") return Response{.status = 0};
        if (request.path == "/plain") return Response{.body = "plain"};
        return Response{.stream = writer};
    });
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

void wait_until_gone(Stream& stream) {
    while (stream.alive()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(ServerStream, IsReadWhileItIsWritten) {
    std::latch first_read(1);
    const auto server = started([&](Stream& stream) {
        EXPECT_TRUE(stream.write("one"));
        first_read.wait();
        EXPECT_TRUE(stream.write(""));
        EXPECT_TRUE(stream.write("two"));
    });
    TestClient client(server->port());
    const auto answer = client.get("/");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->headers.at("transfer-encoding"), "chunked");
    EXPECT_EQ(answer->headers.count("content-length"), 0U);
    EXPECT_EQ(client.chunk(), "one");
    first_read.count_down();
    EXPECT_EQ(client.chunk(), "two");
    EXPECT_EQ(client.chunk(), "");
    EXPECT_EQ(client.get("/plain")->body, "plain") << "the connection is kept";
}

TEST(ServerStream, OfAnOldClientEndsWithItsConnection) {
    const auto server = started([](Stream& stream) { stream.write("all"); });
    TestClient client(server->port());
    client.send("GET / HTTP/1.0\r\n\r\n");
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->headers.count("transfer-encoding"), 0U);
    EXPECT_EQ(answer->headers.at("connection"), "close");
    EXPECT_TRUE(client.ends());
}

TEST(ServerStream, HeadStartsNone) {
    std::atomic<int> writers{0};
    const auto server = started([&](Stream&) { ++writers; });
    TestClient client(server->port());
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.receive(true)->headers.at("transfer-encoding"), "chunked");
    EXPECT_EQ(client.get("/plain")->body, "plain");
    EXPECT_EQ(writers, 0);
}

TEST(ServerStream, AWriterIsToldThatItsReaderHasGone) {
    std::latch told(1);
    const auto server = started([&](Stream& stream) {
        stream.write("one");
        wait_until_gone(stream);
        EXPECT_FALSE(stream.write("two"));
        told.count_down();
    });
    {
        TestClient client(server->port());
        client.get("/");
        EXPECT_EQ(client.chunk(), "one");
    }
    told.wait();
}

TEST(ServerStream, OneThatIsBrokenOffHasNoEnd) {
    const auto server = started([](Stream& stream) {
        stream.write("{\"type\":");
        stream.break_off();
        EXPECT_FALSE(stream.write("more"));
    });
    TestClient client(server->port());
    client.get("/");
    EXPECT_EQ(client.chunk(), "{\"type\":");
    EXPECT_EQ(client.chunk(), std::nullopt);
}

TEST(ServerStream, AWriterThatThrowsBreaksOff) {
    const auto server = started([](Stream&) { throw std::runtime_error("on purpose"); });
    TestClient client(server->port());
    client.get("/");
    EXPECT_EQ(client.chunk(), std::nullopt);
}

TEST(ServerStream, AFastWriterWaitsForItsReader) {
    constexpr std::size_t kParts = 64;
    std::atomic<std::size_t> written{0};
    const auto server = started([&](Stream& stream) {
        const std::string part(1U << 20U, 'x');
        while (written < kParts && stream.write(part)) ++written;
    });
    TestClient client(server->port());
    client.get("/");
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_LT(written.load(), kParts) << "all of it is in memory";
    std::size_t read = 0;
    for (auto part = client.chunk(); part && !part->empty(); part = client.chunk()) {
        read += part->size();
    }
    EXPECT_EQ(read, kParts << 20U);
}

TEST(ServerStream, AReaderThatDoesNotReadIsDropped) {
    std::latch ended(1);
    const auto server = started(
        [&](Stream& stream) {
            const std::string part(1U << 20U, 'x');
            while (stream.write(part)) {
            }
            ended.count_down();
        },
        {.request_limit = milliseconds(50)});
    TestClient client(server->port());
    client.get("/");
    ended.wait();
}

TEST(ServerStream, AReaderMayWaitAsLongAsNothingIsWritten) {
    const auto server = started(
        [](Stream& stream) {
            std::this_thread::sleep_for(milliseconds(150));
            stream.write("late");
        },
        {.request_limit = milliseconds(50), .idle_limit = milliseconds(50)});
    TestClient client(server->port());
    client.get("/");
    EXPECT_EQ(client.chunk(), "late");
}

TEST(ServerStream, ThereAreNotMoreThanMayBe) {
    const auto server = started(wait_until_gone, {.most_streams = 1});
    auto first = std::make_unique<TestClient>(server->port());
    EXPECT_EQ(first->get("/")->status, 200);
    TestClient second(server->port());
    EXPECT_EQ(second.get("/")->status, 503);
    EXPECT_EQ(second.get("/plain")->body, "plain");
    first.reset();
    int status = 503;
    for (int i = 0; i < 1000 && status != 200; ++i) {
        std::this_thread::sleep_for(milliseconds(5));
        status = second.get("/")->status;
    }
    EXPECT_EQ(status, 200);
}

TEST(ServerStream, AServerThatEndsCutsThem) {
    auto server = started([](Stream& stream) {
        stream.write("one");
        wait_until_gone(stream);
    });
    TestClient client(server->port());
    client.get("/");
    EXPECT_EQ(client.chunk(), "one");
    server.reset();
    EXPECT_EQ(client.chunk(), std::nullopt);
}

TEST(ServerStream, ConnectionsAreCutWhenThatIsAskedFor) {
    const auto server = started(wait_until_gone);
    TestClient streaming(server->port());
    TestClient idle(server->port());
    streaming.get("/");
    EXPECT_EQ(idle.get("/plain")->body, "plain");
    server->cut_connections();
    EXPECT_EQ(streaming.chunk(), std::nullopt);
    EXPECT_TRUE(idle.ends());
    EXPECT_EQ(TestClient(server->port()).get("/plain")->body, "plain");
}

TEST(ServerStream, AnAnswerMayBeNone) {
    const auto server = started(wait_until_gone);
    TestClient client(server->port());
    EXPECT_FALSE(client.get("/none"));
    EXPECT_TRUE(client.ends());
}

}  // namespace
}  // namespace aliquot::http
