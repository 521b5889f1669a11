// SPDX-License-Identifier: Apache-2.0
#include "nvml/call_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace aliquot::nvml {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLong = 30s;
constexpr auto kShort = 20ms;

std::shared_ptr<CallPosition> nowhere() { return std::make_shared<CallPosition>(nullptr); }

/// A call that returns when it is told to. Shared with the job, which may outlive the test's call.
struct Gate {
    std::promise<void> entered;
    std::promise<void> opened;
    std::shared_future<void> open = opened.get_future().share();
};

std::function<void()> pass(const std::shared_ptr<Gate>& gate) {
    return [gate] {
        gate->entered.set_value();
        gate->open.wait();
    };
}

/// Waits until the thread takes jobs again; an Error when it never does.
Result<Done> run_when_free(CallThread& thread, std::function<void()> job) {
    for (int i = 0; i < 3000; ++i) {
        auto done = thread.run("after", kLong, job);
        if (done) return done;
        std::this_thread::sleep_for(10ms);
    }
    return Error{ErrorCode::kUnavailable, "never free"};
}

TEST(CallThread, RunsJobsInOrderOnOneThread) {
    CallThread thread(nowhere(), {});
    std::vector<std::thread::id> ids;
    for (int i = 0; i < 3; ++i) {
        const auto done =
            thread.run("job", kLong, [&ids] { ids.push_back(std::this_thread::get_id()); });
        ASSERT_TRUE(done) << done.error().message;
    }
    EXPECT_EQ(ids, (std::vector{ids[0], ids[0], ids[0]}));
    EXPECT_NE(ids[0], std::this_thread::get_id());
}

TEST(CallThread, LeavesAHangingJobBehindAndRecoversWhenItReturns) {
    const auto position = nowhere();
    CallThread thread(position, {});
    const auto gate = std::make_shared<Gate>();
    const auto hung = thread.run("sample of GPU-1", kShort, [job = pass(gate), position] {
        position->store("nvmlDeviceGetMemoryInfo");
        job();
        position->store(nullptr);
    });
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code, ErrorCode::kUnavailable);
    gate->entered.get_future().wait();

    bool ran = false;
    const auto refused = thread.run("enumerate", kLong, [&ran] { ran = true; });
    ASSERT_FALSE(refused);
    EXPECT_FALSE(ran);
    EXPECT_THAT(refused.error().message, HasSubstr("'sample of GPU-1'"));
    EXPECT_THAT(refused.error().message, HasSubstr("nvmlDeviceGetMemoryInfo"));
    // As long as it is the same hang it is the same text, whoever asks: nothing new is written.
    std::this_thread::sleep_for(150ms);  // a message that counted time would have counted
    const auto again = thread.run("probe", kLong, [] {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, refused.error().message);

    gate->opened.set_value();
    const auto after = run_when_free(thread, [&ran] { ran = true; });
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_TRUE(ran);
}

TEST(CallThread, AnswersThoseInTheQueueAsSoonAsAJobIsLeftBehind) {
    CallThread thread(nowhere(), {});
    const auto gate = std::make_shared<Gate>();
    std::thread waiter;
    {
        std::promise<void> started;
        std::thread first([&] { EXPECT_FALSE(thread.run("first", 200ms, pass(gate))); });
        gate->entered.get_future().wait();
        waiter = std::thread([&] {
            started.set_value();
            const auto waited = thread.run("second", kLong, [] {});
            EXPECT_FALSE(waited);  // by "first" passing its deadline, long before its own
        });
        started.get_future().wait();
        first.join();
    }
    waiter.join();
    gate->opened.set_value();
}

TEST(CallThread, DropsAJobThatWaitedTooLong) {
    CallThread thread(nowhere(), {});
    const auto gate = std::make_shared<Gate>();
    std::thread first([&] { EXPECT_TRUE(thread.run("first", kLong, pass(gate))); });
    gate->entered.get_future().wait();
    bool ran = false;
    const auto late = thread.run("second", kShort, [&ran] { ran = true; });
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("'first'"));
    gate->opened.set_value();
    first.join();
    ASSERT_TRUE(thread.run("third", kLong, [] {}));
    EXPECT_FALSE(ran);
}

TEST(CallThread, RefusesMoreThanTheQueueHolds) {
    CallThread thread(nowhere(), {});
    const auto gate = std::make_shared<Gate>();
    std::thread first([&] { EXPECT_TRUE(thread.run("first", kLong, pass(gate))); });
    gate->entered.get_future().wait();
    std::atomic<int> refused = 0;
    std::atomic<int> returned = 0;
    std::vector<std::thread> callers;
    constexpr int kCallers = static_cast<int>(CallThread::kQueueLimit) + 4;
    for (int i = 0; i < kCallers; ++i) {
        callers.emplace_back([&] {
            if (!thread.run("caller", kLong, [] {})) ++refused;
            ++returned;
        });
    }
    while (refused.load() < 4) std::this_thread::yield();
    gate->opened.set_value();
    for (auto& caller : callers) caller.join();
    first.join();
    EXPECT_EQ(refused.load(), 4);
    EXPECT_EQ(returned.load(), kCallers);
}

TEST(CallThread, EndsWithItsLastJob) {
    std::atomic<bool> ended = false;
    {
        const CallThread thread(nowhere(), [&ended] { ended = true; });
    }
    EXPECT_TRUE(ended.load());
}

TEST(CallThread, IsLeftBehindByItsDestructorWhenAJobHangs) {
    const auto gate = std::make_shared<Gate>();
    const auto ended = std::make_shared<std::promise<void>>();
    {
        CallThread thread(nowhere(), [ended] { ended->set_value(); });
        EXPECT_FALSE(thread.run("hang", kShort, pass(gate)));
        gate->entered.get_future().wait();
    }
    auto farewell = ended->get_future();
    EXPECT_EQ(farewell.wait_for(0s), std::future_status::timeout);
    gate->opened.set_value();
    EXPECT_EQ(farewell.wait_for(30s), std::future_status::ready);
}

}  // namespace
}  // namespace aliquot::nvml
