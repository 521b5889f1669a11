// SPDX-License-Identifier: Apache-2.0
// A client of many calls beside our server. That it understands Google's servers is what the contract tests of the
// simulated kubelet show.
#include "rpc/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>

#include "rpc/body.h"
#include "rpc/server.h"

namespace aliquot::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Sends each stream the numbers from 1 to `last`, one message each, then ends it or waits.
class Counting final : public Feed {
public:
    Status opened(std::uint64_t /*stream*/) override {
        ++streams;
        return {};
    }
    Next next(std::uint64_t stream) override {
        const std::scoped_lock lock(mutex_);
        const auto number = ++at_[stream];
        handed = number;
        if (number <= last)
            return {.step = Next::Step::kMessage,
                    .frame = std::make_shared<const std::string>(
                        framed(std::to_string(number) + std::string(padding, '.'))),
                    .version = number,
                    .status = {}};
        if (!ends) return {};
        return {.step = Next::Step::kEnd, .frame = {}, .status = {Code::kUnavailable, "bye"}};
    }
    void sent(std::uint64_t /*stream*/, std::uint64_t version) override { sent_to = version; }
    void closed(std::uint64_t /*stream*/) override { --streams; }

    std::atomic<std::uint64_t> last = 3;
    std::atomic<std::uint64_t> handed = 0;  // the newest number that the server has taken
    std::atomic<std::uint64_t> sent_to = 0;
    std::atomic<std::size_t> padding = 0;
    std::atomic<bool> ends = true;
    std::atomic<int> streams = 0;

private:
    std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> at_;
};

class RpcClient : public ::testing::Test {
protected:
    void SetUp() override {
        std::vector<Method> methods;
        methods.push_back({"/t.Echo/Say", Unary([](std::string_view request, std::string& answer) {
                               answer = request;
                               return Status{};
                           })});
        methods.push_back({"/t.Echo/Fail", Unary([](std::string_view, std::string&) {
                               return Status{Code::kNotFound, "no such GPU"};
                           })});
        methods.push_back({"/t.Echo/Wait", Patient([this](std::string_view, const Caller& caller,
                                                          std::string& answer) {
                               left_ = caller.left();
                               while (!caller.gone()) std::this_thread::sleep_for(1ms);
                               gone_.release();
                               answer = "late";
                               return Status{};
                           })});
        methods.push_back({"/t.Echo/Count", &numbers_});
        auto server = Server::start(std::move(methods));
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        client_ = connect({});
    }

    static std::array<Descriptor, 2> pair() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        return {Descriptor(ends[0]), Descriptor(ends[1])};
    }

    std::unique_ptr<Client> connect(const ClientLimits& limits) {
        auto [ours, theirs] = pair();
        server_->serve(std::move(theirs));
        auto client = Client::start(std::move(ours), limits);
        EXPECT_TRUE(client) << client.error().message;
        return *std::move(client);
    }

    Status say(std::string_view request, std::string& answer) {
        return client_->call("/t.Echo/Say", request, 60s, answer);
    }
    static void wait_for(const std::function<bool()>& seen) {
        for (int i = 0; i < 6000 && !seen(); ++i) std::this_thread::sleep_for(10ms);
        EXPECT_TRUE(seen());
    }

    std::binary_semaphore gone_{0};
    std::atomic<std::chrono::milliseconds> left_{};
    Counting numbers_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<Client> client_;
};

TEST_F(RpcClient, OneConnectionCarriesCallAfterCall) {
    EXPECT_TRUE(client_->wait_ready(60s));
    std::string answer;
    for (const std::size_t size : {0, 1, 16384, 65536, (4 << 20) - 1}) {
        const std::string message(size, 'x');
        const auto status = say(message, answer);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(answer, message);
    }
    const auto failed = client_->call("/t.Echo/Fail", "", 60s, answer);
    EXPECT_EQ(failed.code, Code::kNotFound);
    EXPECT_EQ(failed.message, "no such GPU");
    EXPECT_EQ(client_->call("/t.Echo/None", "", 60s, answer).code, Code::kUnimplemented);
    EXPECT_TRUE(say("after", answer).ok());
}

TEST_F(RpcClient, ManyThreadsCallAndWatchAtOnce) {
    numbers_.last = 200;
    std::atomic<int> good = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            std::string answer;
            for (int n = 0; n < 50; ++n) {
                const auto message = std::to_string(i) + std::string(n * 2000, 'x');
                good += say(message, answer).ok() && answer == message ? 1 : 0;
            }
        });
        threads.emplace_back([&] {
            int seen = 0;
            const auto end = client_->watch("/t.Echo/Count", "", [&](const std::string& message) {
                if (message == std::to_string(seen + 1)) ++seen;
            });
            good += seen == 200 && end.message == "bye" ? 1 : 0;
        });
    }
    threads.clear();
    EXPECT_EQ(good, 4 * 50 + 4);
}

TEST_F(RpcClient, AStreamHandsOverItsMessagesAndSaysHowItEnded) {
    std::string all;
    const auto end = client_->watch("/t.Echo/Count", "",
                                    [&](const std::string& message) { all += message + " "; });
    EXPECT_EQ(all, "1 2 3 ");
    EXPECT_EQ(end.code, Code::kUnavailable);
    EXPECT_EQ(end.message, "bye");
    EXPECT_EQ(client_->watch("/t.Echo/None", "", [](const auto&) {}).code, Code::kUnimplemented);
}

TEST_F(RpcClient, ACallWaitsNoLongerThanItMayAndTheServerIsTold) {
    std::string answer;
    const auto late = client_->call("/t.Echo/Wait", "", 50ms, answer);
    EXPECT_EQ(late.code, Code::kDeadlineExceeded);
    EXPECT_EQ(late.message, "no answer within 0.05 s");
    EXPECT_TRUE(gone_.try_acquire_for(60s));
    EXPECT_LE(left_.load(), 50ms);
    EXPECT_TRUE(say("next", answer).ok());
    EXPECT_EQ(answer, "next");
}

TEST_F(RpcClient, AMethodThatWaitsSeesThatItsCallerHasGone) {
    std::jthread caller([&] {
        std::string answer;
        EXPECT_EQ(client_->call("/t.Echo/Wait", "", 600s, answer).code, Code::kCancelled);
    });
    wait_for([&] { return left_.load() > 0ms; });
    EXPECT_LE(left_.load(), 600s);
    client_->close();
    EXPECT_TRUE(gone_.try_acquire_for(60s));
}

TEST_F(RpcClient, CloseEndsCallsAndStreamsAndTheConnection) {
    numbers_.ends = false;
    std::jthread watcher([&] {
        EXPECT_EQ(client_->watch("/t.Echo/Count", "", [](const auto&) {}).code, Code::kCancelled);
    });
    wait_for([&] { return numbers_.sent_to == 3; });
    EXPECT_TRUE(client_->open());
    client_->close();
    watcher.join();
    EXPECT_FALSE(client_->open());
    EXPECT_TRUE(server_->wait_until_left(60s));
    wait_for([&] { return numbers_.streams == 0; });
    std::string answer;
    EXPECT_EQ(say("x", answer).code, Code::kCancelled);
    client_->close();  // once more does nothing
}

TEST_F(RpcClient, APeerThatGoesEndsTheCallsOnIt) {
    numbers_.ends = false;
    std::jthread watcher([&] {
        const auto end = client_->watch("/t.Echo/Count", "", [](const auto&) {});
        EXPECT_EQ(end.code, Code::kUnavailable);
    });
    wait_for([&] { return numbers_.sent_to == 3; });
    server_->stop(0ms);
    watcher.join();
    wait_for([&] { return !client_->open(); });
    std::string answer;
    EXPECT_EQ(say("x", answer).code, Code::kUnavailable);
}

// Two watchers that take nothing hold up neither themselves nor the memory: the peer waits.
TEST_F(RpcClient, ASlowWatcherHoldsBackThePeer) {
    numbers_.last = 400;
    numbers_.padding = 50'000;  // 20 MB in all
    client_ = connect({.message_bytes = 100'000, .held_bytes = 200'000});
    std::binary_semaphore go{0};
    std::promise<int> seen;
    std::jthread watcher([&] {
        int count = 0;
        const auto end = client_->watch("/t.Echo/Count", "", [&](const std::string&) {
            if (count++ == 0) go.acquire();
        });
        EXPECT_EQ(end.message, "bye");
        seen.set_value(count);
    });
    wait_for([&] { return numbers_.handed > 5; });
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(numbers_.handed, 200U);
    go.release();
    EXPECT_EQ(seen.get_future().get(), 400);
}

TEST_F(RpcClient, AMessageThatIsTooLongEndsItsCallAndNoOther) {
    client_ = connect({.message_bytes = 1000});
    std::string answer;
    const auto refused = say(std::string(2000, 'x'), answer);
    EXPECT_EQ(refused.code, Code::kResourceExhausted);
    EXPECT_THAT(refused.message, HasSubstr("message of 2000 bytes"));
    EXPECT_TRUE(say(std::string(1000, 'x'), answer).ok());
    numbers_.padding = 2000;
    EXPECT_EQ(client_->watch("/t.Echo/Count", "", [](const auto&) {}).code,
              Code::kResourceExhausted);
    EXPECT_TRUE(say("still there", answer).ok());
}

TEST_F(RpcClient, APeerThatSpeaksSomethingElseIsAnErrorNotAHang) {
    for (const std::string_view words :
         {"HTTP/1.1 400 Bad Request\r\n\r\n", "", "\0\0\0\0\0\0\0\0\0"}) {
        auto [ours, theirs] = pair();
        ASSERT_EQ(::write(theirs.get(), words.data(), words.size()),
                  static_cast<ssize_t>(words.size()));
        ::shutdown(theirs.get(), SHUT_WR);
        auto client = Client::start(std::move(ours));
        ASSERT_TRUE(client);
        EXPECT_FALSE((*client)->wait_ready(60s));
        std::string answer;
        EXPECT_EQ((*client)->call("/x", "", 60s, answer).code, Code::kUnavailable);
    }
}

}  // namespace
}  // namespace aliquot::rpc
