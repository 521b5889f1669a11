// SPDX-License-Identifier: Apache-2.0
// Server and client beside each other. That other implementations understand them is what the
// tests of kubelet/ and tests/contract show, whose peers are Google's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <semaphore>
#include <thread>

#include "base/wake.h"
#include "rpc/body.h"
#include "rpc/call.h"
#include "rpc/server.h"

namespace aliquot::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A feed that anybody may fill.
class Numbers final : public Feed {
public:
    Status opened(std::uint64_t stream) override {
        const std::scoped_lock lock(mutex_);
        if (refuse) return {Code::kResourceExhausted, "full"};
        at_[stream] = 0;
        changed_.notify_all();
        return {};
    }
    Next next(std::uint64_t stream) override {
        const std::scoped_lock lock(mutex_);
        if (ended_)
            return {.step = Next::Step::kEnd, .frame = {}, .status = {Code::kUnavailable, "bye"}};
        if (at_[stream] == version_) return {};
        at_[stream] = version_;
        return {.step = Next::Step::kMessage,
                .frame = std::make_shared<const std::string>(
                    framed(std::to_string(version_) + std::string(padding, '.'))),
                .version = version_,
                .status = {}};
    }
    void sent(std::uint64_t /*stream*/, std::uint64_t version) override { last_sent = version; }
    void closed(std::uint64_t stream) override {
        const std::scoped_lock lock(mutex_);
        at_.erase(stream);
        changed_.notify_all();
    }
    void put(std::uint64_t version) {
        const std::scoped_lock lock(mutex_);
        version_ = version;
    }
    void end() {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    bool wait_streams(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 60s, [&] { return at_.size() == count; });
    }

    bool refuse = false;
    std::size_t padding = 0;
    std::atomic<std::uint64_t> last_sent = 0;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, std::uint64_t> at_;
    std::uint64_t version_ = 1;
    bool ended_ = false;
};

class Rpc : public ::testing::Test {
protected:
    void start(const Limits& limits = {}) {
        std::vector<Method> methods;
        methods.push_back({"/t.Echo/Say", Unary([](std::string_view request, std::string& answer) {
                               answer = request;
                               return Status{};
                           })});
        methods.push_back({"/t.Echo/Fail", Unary([](std::string_view /*request*/, std::string&) {
                               return Status{Code::kNotFound, "100 % away:\nGPU-1"};
                           })});
        methods.push_back(
            {"/t.Echo/Throw", Unary([](std::string_view /*request*/, std::string&) -> Status {
                 throw std::runtime_error("thrown");
             })});
        methods.push_back({"/t.Echo/Wait", Unary([this](std::string_view, std::string&) {
                               released_.acquire();
                               return Status{};
                           })});
        methods.push_back({"/t.Echo/Watch", &numbers_});
        auto server = Server::start(std::move(methods), limits);
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
    }

    /// The other end of a new connection to the server.
    Descriptor connect() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        server_->serve(Descriptor(ends[0]));
        return Descriptor(ends[1]);
    }

    Result<std::string> ask(const std::string& method, std::string_view request,
                            std::chrono::milliseconds timeout = 60s) {
        return call(connect(), request,
                    {.path = "/t.Echo/" + method, .timeout = timeout, .subject = method});
    }

    std::binary_semaphore released_{0};
    Numbers numbers_;
    std::unique_ptr<Server> server_;
};

TEST_F(Rpc, AMessageOfAnySizeComesBack) {
    start();
    for (const std::size_t size : {0, 1, 5, 16383, 16384, 65535, 65536, 1 << 20, (4 << 20) - 1}) {
        std::string message(size, 'x');
        for (std::size_t i = 0; i < size; i += 997) message[i] = static_cast<char>(i);
        const auto answer = ask("Say", message);
        ASSERT_TRUE(answer) << answer.error().message;
        ASSERT_EQ(*answer, message) << size;
    }
}

TEST_F(Rpc, ErrorsComeWithTheirWords) {
    start();
    const auto failed = ask("Fail", "");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(failed.error().message, "Fail: 100 % away:\nGPU-1");
    EXPECT_EQ(ask("Throw", "").error().message, "Throw: thrown");
    const auto unknown = ask("Nothing", "");
    EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(unknown.error().message, "Nothing: unknown method /t.Echo/Nothing");
}

TEST_F(Rpc, ARequestThatIsTooLongIsRefusedAndTheNextIsServed) {
    start({.request_bytes = 1000});
    const auto refused = ask("Say", std::string(1001, 'x'));
    EXPECT_THAT(refused.error().message, HasSubstr("at most 1000 are taken"));
    EXPECT_TRUE(ask("Say", std::string(1000, 'x')));
    EXPECT_FALSE(ask("Say", std::string(3 << 20, 'x')));
}

TEST_F(Rpc, AnAnswerThatIsTooLongIsRefused) {
    start();
    const auto answer =
        call(connect(), std::string(2000, 'x'),
             {.path = "/t.Echo/Say", .timeout = 60s, .answer_bytes = 1000, .subject = "Say"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("message of 2000 bytes"));
}

TEST_F(Rpc, ACallWaitsNoLongerThanItMay) {
    start();
    const auto late = ask("Wait", "", 20ms);
    released_.release();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(late.error().message, "Wait: no answer within 0.02 s");
}

TEST_F(Rpc, ACallCanBeCancelled) {
    start();
    const Wake cancel;
    std::jthread other([&] { cancel.notify(); });
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    const Descriptor silent(ends[0]);
    const auto answer = call(
        Descriptor(ends[1]), "",
        {.path = "/t.Echo/Say", .timeout = 600s, .cancel = cancel.descriptor(), .subject = "Say"});
    EXPECT_EQ(answer.error().message, "Say: cancelled");
}

TEST_F(Rpc, APeerThatSpeaksSomethingElseIsAnErrorNotAHang) {
    for (const std::string_view words :
         {"HTTP/1.1 400 Bad Request\r\n\r\n", "", "\0\0\0\0\0\0\0\0\0"}) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        Descriptor peer(ends[0]);
        ASSERT_EQ(::write(peer.get(), words.data(), words.size()),
                  static_cast<ssize_t>(words.size()));
        ::shutdown(peer.get(), SHUT_WR);
        const auto answer =
            call(Descriptor(ends[1]), "", {.path = "/x", .timeout = 60s, .subject = "x"});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().message, "x: the connection was closed before the answer");
    }
}

TEST_F(Rpc, AClientThatSpeaksSomethingElseIsHungUpOn) {
    start();
    for (const std::string_view words : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01"}) {
        const auto peer = connect();
        std::string sent(words);
        sent.resize(64, ' ');
        ASSERT_EQ(::write(peer.get(), sent.data(), sent.size()), 64);
        std::array<char, 4096> buffer{};
        while (::read(peer.get(), buffer.data(), buffer.size()) > 0) continue;  // then it ends
    }
    EXPECT_TRUE(ask("Say", "still there"));
}

TEST_F(Rpc, ConnectionsBeyondTheLimitAreClosed) {
    start({.connections = 2});
    const auto first = connect();
    const auto second = connect();
    const auto third = ask("Say", "");
    ASSERT_FALSE(third);
    EXPECT_THAT(third.error().message, HasSubstr("closed"));
}

TEST_F(Rpc, AStreamIsRefusedEndedAndForgotten) {
    start();
    numbers_.refuse = true;
    EXPECT_EQ(ask("Watch", "").error().message, "Watch: full");
    numbers_.refuse = false;
    std::jthread other([&] {
        ASSERT_TRUE(numbers_.wait_streams(1));
        numbers_.end();
        server_->wake();
    });
    const auto answer = ask("Watch", "");  // one message, then the end with its status
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "Watch: bye");
    EXPECT_TRUE(numbers_.wait_streams(0));
}

TEST_F(Rpc, AStreamWhosePeerGoesIsForgotten) {
    start();
    std::jthread caller([&] { (void)ask("Watch", "", 1s); });
    ASSERT_TRUE(numbers_.wait_streams(1));
    caller.join();
    EXPECT_TRUE(numbers_.wait_streams(0));
}

TEST_F(Rpc, SaysWhenEveryClientHasLeft) {
    start();
    EXPECT_TRUE(server_->wait_until_left(0ms));
    Descriptor one = connect();
    const Descriptor other = connect();
    one = Descriptor();
    EXPECT_FALSE(server_->wait_until_left(50ms));
    ASSERT_EQ(::shutdown(other.get(), SHUT_RDWR), 0);
    EXPECT_TRUE(server_->wait_until_left(60s));
}

TEST_F(Rpc, TheServerEndsItsStreamsWhenItIsStopped) {
    start();
    std::jthread caller([&] { EXPECT_FALSE(ask("Watch", "")); });
    ASSERT_TRUE(numbers_.wait_streams(1));
    server_->stop(0ms);
    EXPECT_TRUE(numbers_.wait_streams(0));
}

TEST_F(Rpc, ManyCallersAreServedAtOnce) {
    start();
    std::vector<std::jthread> callers;
    std::atomic<int> good = 0;
    for (int i = 0; i < 8; ++i)
        callers.emplace_back([&, i] {
            for (int n = 0; n < 50; ++n) {
                const auto message = std::to_string(i) + std::string(n * 1000, 'x');
                const auto answer = ask("Say", message);
                good += answer && *answer == message ? 1 : 0;
            }
        });
    callers.clear();
    EXPECT_EQ(good, 8 * 50);
}

}  // namespace
}  // namespace aliquot::rpc
