// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/container_run.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "os/temporary_directory.h"
#include "sim/cluster/pod_run.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;
using State = ContainerRun::State;

class ContainerTest : public testing::Test {
protected:
    ContainerPlan plan(std::vector<std::string> argv) {
        return {.name = "c",
                .argv = std::move(argv),
                .environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}},
                .working_directory = directory_.path().native(),
                .log_path = (directory_.path() / "log").native()};
    }
    std::string log() const {
        std::ifstream file(directory_.path() / "log");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Ticks with the real time until `done`, at most ten seconds.
    static bool tick_until(const std::function<void(TimePoint)>& tick,
                           const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (std::chrono::steady_clock::now() < end) {
            tick(std::chrono::steady_clock::now());
            if (done()) return true;
            std::this_thread::sleep_for(2ms);
        }
        return false;
    }
    bool run_to(ContainerRun& container, RestartPolicy policy, State state) {
        return tick_until([&](TimePoint now) { container.tick(policy, now); },
                          [&] { return container.state() == state; });
    }

    os::TemporaryDirectory directory_;
};

TEST_F(ContainerTest, RunsItsCommandWithItsEnvironmentOnly) {
    ContainerRun container(plan({"sh", "-c", "echo $GREETING $HOME; pwd; exit 3"}));
    ASSERT_TRUE(run_to(container, RestartPolicy::kNever, State::kEnded));
    EXPECT_EQ(container.exit_code(), 3);
    EXPECT_EQ(container.ending(), "exit code 3");
    EXPECT_EQ(log(), "hello\n" + directory_.path().native() + "\n");
}

TEST_F(ContainerTest, IsStartedAgainWithAPauseThatGrows) {
    ContainerRun container(plan({"false"}));
    ASSERT_TRUE(run_to(container, RestartPolicy::kOnFailure, State::kBackOff));
    const TimePoint ended = container.changed();
    container.tick(RestartPolicy::kOnFailure, ended + 900ms);
    EXPECT_EQ(container.restarts(), 0U);
    container.tick(RestartPolicy::kOnFailure, ended + 1100ms);
    EXPECT_EQ(container.restarts(), 1U);
    ASSERT_TRUE(
        tick_until([&](TimePoint) { container.tick(RestartPolicy::kOnFailure, ended + 1200ms); },
                   [&] { return container.state() == State::kBackOff; }));
    const TimePoint second = container.changed();
    container.tick(RestartPolicy::kOnFailure, second + 1900ms);
    EXPECT_EQ(container.restarts(), 1U);
    container.tick(RestartPolicy::kOnFailure, second + 2100ms);
    EXPECT_EQ(container.restarts(), 2U);
    container.stop(1000ms);
}

TEST_F(ContainerTest, EndsOnSuccessWhenOnlyFailuresAreRepeated) {
    ContainerRun container(plan({"true"}));
    ASSERT_TRUE(run_to(container, RestartPolicy::kOnFailure, State::kEnded));
    EXPECT_EQ(container.exit_code(), 0);
}

TEST_F(ContainerTest, SaysThatAProgramIsMissing) {
    ContainerRun container(plan({"no-such-program"}));
    container.tick(RestartPolicy::kNever, std::chrono::steady_clock::now());
    EXPECT_EQ(container.state(), State::kEnded);
    EXPECT_EQ(container.exit_code(), 128);
    EXPECT_NE(container.ending().find("no-such-program"), std::string::npos);
}

TEST_F(ContainerTest, TakesItsChildrenAlong) {
    ContainerRun container(plan({"sh", "-c", "sleep 1000 & echo $!; exit 0"}));
    ASSERT_TRUE(run_to(container, RestartPolicy::kNever, State::kEnded));
    const pid_t child = std::stoi(log());
    EXPECT_TRUE(tick_until([](TimePoint) {},
                           [&] {
                               std::ifstream status("/proc/" + std::to_string(child) + "/stat");
                               std::string text;
                               std::getline(status, text);
                               return text.empty() || text.find(") Z") != std::string::npos;
                           }));
}

TEST_F(ContainerTest, IsKilledWhenItDoesNotListen) {
    ContainerRun container(plan({"sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"}));
    ASSERT_TRUE(tick_until([&](TimePoint now) { container.tick(RestartPolicy::kAlways, now); },
                           [&] { return log() == "up\n"; }));
    container.stop(50ms);
    EXPECT_EQ(container.state(), State::kEnded);
    EXPECT_EQ(container.ending(), "killed by signal 9");
}

TEST_F(ContainerTest, WaitsWhenThereIsNoCommand) {
    ContainerRun container(plan({}));
    container.tick(RestartPolicy::kAlways, std::chrono::steady_clock::now());
    EXPECT_EQ(container.state(), State::kRunning);
    container.stop(0ms);
    EXPECT_EQ(container.state(), State::kEnded);
}

class PodRunTest : public ContainerTest {
protected:
    PodRun pod(RestartPolicy policy, const std::vector<std::string>& init,
               const std::vector<std::string>& main) {
        std::vector<ContainerRun> init_containers;
        std::vector<ContainerRun> containers;
        for (const std::string& script : init) {
            init_containers.emplace_back(plan({"sh", "-c", script}));
        }
        for (const std::string& script : main) containers.emplace_back(plan({"sh", "-c", script}));
        return {policy, std::move(init_containers), std::move(containers)};
    }
    bool run_to_phase(PodRun& pod, Phase phase) {
        return tick_until([&](TimePoint now) { pod.tick(now); },
                          [&] { return pod.phase() == phase; });
    }
};

TEST_F(PodRunTest, RunsInitContainersInOrderBeforeTheOthers) {
    PodRun run = pod(RestartPolicy::kNever, {"echo 1", "echo 2"}, {"echo 3"});
    ASSERT_TRUE(run_to_phase(run, Phase::kSucceeded));
    EXPECT_EQ(log(), "1\n2\n3\n");
}

TEST_F(PodRunTest, FailsWithItsInitContainer) {
    PodRun run = pod(RestartPolicy::kNever, {"exit 2"}, {"echo never"});
    ASSERT_TRUE(run_to_phase(run, Phase::kFailed));
    EXPECT_EQ(run.reason(), "Init:Error: container c: exit code 2");
    EXPECT_EQ(log(), "");
}

TEST_F(PodRunTest, FailsWhenOneContainerFailed) {
    PodRun run = pod(RestartPolicy::kNever, {}, {"exit 0", "exit 4"});
    ASSERT_TRUE(run_to_phase(run, Phase::kFailed));
    EXPECT_EQ(run.reason(), "container c: exit code 4");
}

TEST_F(PodRunTest, SaysThatItCrashesAgainAndAgain) {
    PodRun run = pod(RestartPolicy::kAlways, {}, {"exit 1"});
    ASSERT_TRUE(
        tick_until([&](TimePoint now) { run.tick(now); }, [&] { return run.is_crashing(); }));
    EXPECT_EQ(run.phase(), Phase::kRunning);
    EXPECT_EQ(run.reason(), "CrashLoopBackOff: container c: exit code 1, restarts 0");
    run.stop(100ms);
}

}  // namespace
}  // namespace aliquot::sim::cluster
