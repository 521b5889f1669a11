// SPDX-License-Identifier: Apache-2.0
#include "gate/run.h"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <map>

namespace aliquot::gate {
namespace {

/// Time passes while somebody sleeps.
class SteppingClock final : public os::Clock {
public:
    [[nodiscard]] os::TimePoint now() const override { return now_; }
    bool sleep_until(os::TimePoint when, std::stop_token /*stop*/) override {
        now_ = std::max(now_, when);
        return true;
    }

private:
    os::TimePoint now_{};
};

struct OneGpu {
    SteppingClock clock;
    GpuState gpu{.uuid = "GPU-1"};
    std::map<std::uint32_t, int> ends_by;  // processes, and the signal that ends them
    std::vector<int> signals;
    World world{.observe = [this]() -> Result<NodeState> {
                    gpu.processes.clear();
                    for (const auto& [pid, by] : ends_by) gpu.processes.push_back(pid);
                    return NodeState{gpu};
                },
                .signal =
                    [this](std::uint32_t pid, int number) {
                        signals.push_back(number);
                        if (ends_by[pid] == number) ends_by.erase(pid);
                    },
                .clock = clock};
};

TEST(GateRun, LooksOnceWhenClean) {
    OneGpu node;
    const auto verdict = run(node.world, nullptr, {});
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->leftovers.empty());
    EXPECT_EQ(verdict->looks, 1U);
    EXPECT_EQ(node.clock.now(), os::TimePoint{});
}

TEST(GateRun, EndsOrphansPolitelyAndThenKillsThem) {
    OneGpu node;
    node.ends_by = {{10, SIGTERM}, {11, SIGKILL}};
    const auto verdict = run(node.world, nullptr, {.orphans = Orphans::kEnd});
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->leftovers.empty());
    EXPECT_EQ(verdict->ended, (std::vector<std::uint32_t>{10, 11}));
    EXPECT_EQ(node.signals, (std::vector<int>{SIGTERM, SIGTERM, SIGKILL}));
}

TEST(GateRun, LeavesProcessesAloneUnlessToldAndGivesUpInTime) {
    OneGpu node;
    node.ends_by = {{10, SIGTERM}};
    const auto verdict = run(node.world, nullptr, {});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->leftovers.size(), 1U);
    EXPECT_TRUE(node.signals.empty());
    EXPECT_LE(node.clock.now() - os::TimePoint{}, std::chrono::milliseconds(2'050));
}

TEST(GateRun, DoesNotWaitForAFault) {
    OneGpu node;
    node.gpu.problem = "GPU is lost";
    const auto verdict = run(node.world, nullptr, {.orphans = Orphans::kEnd});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->leftovers.size(), 1U);
    EXPECT_EQ(verdict->looks, 1U);
}

}  // namespace
}  // namespace aliquot::gate
