// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>

#include "http/server.h"
#include "http/test_client.h"

namespace aliquot::http {
namespace {

using Answer = std::function<void(Response)>;

/// What a handler was asked and has not answered.
class Shelf {
public:
    Response operator()(const Request& /*request*/) {
        return {.later = [this](Answer answer) {
            const std::scoped_lock lock(mutex_);
            answers_.push_back(std::move(answer));
            changed_.notify_all();
        }};
    }
    /// The first `count`, when they are there.
    std::deque<Answer> take(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return answers_.size() >= count; });
        return std::exchange(answers_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Answer> answers_;
};

std::unique_ptr<Server> serve(Shelf& shelf, ServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto server =
        Server::listen(options, [&shelf](const Request& request) { return shelf(request); });
    EXPECT_TRUE(server.ok()) << server.error().message;
    return *std::move(server);
}

TEST(ServerLater, OneThreadHasManyRequestsWhoseAnswersComeInAnyOrder) {
    Shelf shelf;
    const auto server = serve(shelf, {.threads = 1, .most_requests = 64});
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(std::make_unique<TestClient>(server->port()));
        ASSERT_TRUE(clients.back()->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    auto answers = shelf.take(20);
    ASSERT_EQ(answers.size(), 20U);
    for (auto answer = answers.rbegin(); answer != answers.rend(); ++answer)
        (*answer)({.body = "late\n"});
    for (const auto& client : clients) {
        const auto response = client->receive();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 200);
        EXPECT_EQ(response->body, "late\n");
    }
    // The connections go on.
    ASSERT_TRUE(clients[0]->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    shelf.take(1).front()({.status = 404, .body = "no\n"});
    EXPECT_EQ(clients[0]->receive()->status, 404);
}

TEST(ServerLater, NoMoreThanTheLimitAreWorkedOnAtOnce) {
    Shelf shelf;
    const auto server = serve(shelf, {.threads = 2, .most_requests = 3});
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(std::make_unique<TestClient>(server->port()));
        ASSERT_TRUE(clients.back()->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    auto first = shelf.take(3);
    ASSERT_EQ(first.size(), 3U);
    for (auto& answer : first) answer({.body = "1"});
    auto rest = shelf.take(2);
    ASSERT_EQ(rest.size(), 2U);
    for (auto& answer : rest) answer({.body = "2"});
    for (const auto& client : clients) EXPECT_EQ(client->receive()->status, 200);
}

TEST(ServerLater, AnAnswerThatNobodyGivesIs500AndASecondOneIsDropped) {
    Shelf shelf;
    const auto server = serve(shelf);
    TestClient client(server->port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    shelf.take(1).clear();
    EXPECT_EQ(client.receive()->status, 500);
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    const auto answers = shelf.take(1);
    answers.front()({.body = "once"});
    answers.front()({.body = "twice"});
    EXPECT_EQ(client.receive()->body, "once");
}

TEST(ServerLater, AnAnswerAfterTheEndOfTheServerGoesNowhere) {
    Shelf shelf;
    auto server = serve(shelf, {.request_limit = std::chrono::milliseconds(200)});
    TestClient client(server->port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    const auto answers = shelf.take(1);
    ASSERT_EQ(answers.size(), 1U);
    server.reset();
    answers.front()({.body = "too late"});
    EXPECT_TRUE(client.ends());
}

}  // namespace
}  // namespace aliquot::http
