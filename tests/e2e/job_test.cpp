// SPDX-License-Identifier: Apache-2.0
// `aliquot serve` and `aliquot job` as people use them: one machine, its users, its deaths.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "os/root.h"
#include "tests/e2e/job_machine.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

TEST_F(JobTest, RunsAJobAndTellsItsOutputAndItsExitCode) {
    const std::string id =
        submit("echo GPU $CUDA_VISIBLE_DEVICES; echo no >&2; pwd", {"--gpu", "1"});
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 0);
    const auto logs = run({"job", "logs", id}).output;
    EXPECT_THAT(logs, HasSubstr("GPU GPU-00000000-0000-4000-8000-00000000000"));
    EXPECT_THAT(logs, HasSubstr("\nno\n" + directory_.path().native() + "\n"));
    const json job = show(id);
    EXPECT_EQ(job["state"], "Succeeded");
    EXPECT_EQ(job["exitCode"], 0);
    std::vector<std::string> steps;
    for (const json& step : job["steps"]) steps.push_back(step["to"]);
    EXPECT_EQ(steps, (std::vector<std::string>{"Queued", "Starting", "Running", "Succeeded"}));

    // A path alone is a socket, too; anything else is told what is expected.
    const std::string path = address().substr(5);  // behind unix:
    EXPECT_EQ(run({"job", "show", id, "--server", path}).exit.code, 0);
    const auto wrong = run({"job", "show", id, "--server", "jobs.sock"});
    EXPECT_EQ(wrong.exit.code, 2);
    EXPECT_THAT(wrong.output, HasSubstr("'jobs.sock' is not an address of a job server"));

    const std::string failing = submit("exit 7", {"--retries", "0"});
    EXPECT_EQ(run({"job", "wait", failing}).exit.code, 1);
    EXPECT_EQ(show(failing)["exitCode"], 7);
    EXPECT_EQ(show(failing)["cause"], "program");
    EXPECT_THAT(run({"job", "list"}).output, testing::Not(HasSubstr("Failed")));
    EXPECT_THAT(run({"job", "list", "--all"}).output, HasSubstr("Failed"));
    EXPECT_EQ(run({"job", "delete", failing}).exit.code, 0);
    EXPECT_THAT(run({"job", "list", "--all"}).output, testing::Not(HasSubstr("Failed")));
}

// R69.
TEST_F(JobTest, QueuesWhatDoesNotFitAndStartsItByPriority) {
    const std::string all = submit("while [ ! -e go ]; do sleep 0.05; done", {"--gpu", "2"});
    reaches(all, "Running");
    const std::string low = submit("echo low >> order", {"--gpu", "2"});
    const std::string high = submit("echo high >> order", {"--gpu", "2", "--priority", "5"});
    eventually([&] {
        return json::parse(run({"job", "explain", high, "-o", "json"}).output).contains("position");
    });
    const json told = json::parse(run({"job", "explain", low, "-o", "json"}).output);
    EXPECT_EQ(told["position"], 2) << told;
    EXPECT_EQ(told["freeGpus"], 0);
    EXPECT_EQ(told["why"], "all GPUs are in use");
    EXPECT_EQ(told["ahead"][0].dump(), high);
    EXPECT_EQ(told["holders"][0]["id"].dump(), all);
    EXPECT_FALSE(show(all).contains("exitCode"));
    std::ofstream(directory_.path() / "go") << "";
    EXPECT_EQ(run({"job", "wait", all, low, high}).exit.code, 0);
    EXPECT_EQ(content(directory_.path() / "order"), "high\nlow\n");
}

TEST_F(JobTest, TellsWhatSmallerJobWouldStartNow) {
    const std::string one = submit("sleep 1000", {"--gpu", "1"});
    reaches(one, "Running");
    const std::string two = submit("true", {"--gpu", "2"});
    eventually([&] {
        return json::parse(run({"job", "explain", two, "-o", "json"}).output).contains("position");
    });
    const json told = json::parse(run({"job", "explain", two, "-o", "json"}).output);
    EXPECT_EQ(told["freeGpus"], 1);
    EXPECT_EQ(told["smaller"], "--gpu 1") << told;
    const std::string after = submit("true", {"--after", one});
    EXPECT_THAT(run({"job", "explain", after}).output, HasSubstr("it starts after job " + one));
}

TEST_F(JobTest, GivesSharesOfOneGpuToSeveralJobs) {
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(submit("sleep 1000", {"--gpu-memory", "7Gi", "--gpu-compute", "40"}));
    }
    for (const std::string& id : ids) reaches(id, "Running");
    std::map<std::string, int> uses;
    for (const std::string& id : ids) ++uses[show(id)["devices"][0]];
    EXPECT_EQ(uses.size(), 2U);
    for (const auto& [device, count] : uses) EXPECT_EQ(count, 2) << device;
    EXPECT_THAT(show(ids[0])["limits"].get<std::string>(), HasSubstr("simulated"));
    const std::string next = submit("true", {"--gpu-memory", "7Gi"});
    EXPECT_EQ(state_of(next), "Queued");
    EXPECT_EQ(run({"job", "cancel", ids[0]}).exit.code, 0);
    reaches(ids[0], "Cancelled");
    EXPECT_EQ(run({"job", "wait", next}).exit.code, 0);
}

/// How many processes have this word as an argument.
int processes_with(const std::string& word) {
    const os::Root root("/");
    const auto names = root.list("/proc", 100'000);
    EXPECT_TRUE(names) << names.error().message;
    int count = 0;
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        const auto line = root.read("/proc/" + name + "/cmdline");  // one may end meanwhile
        if (line && line->find(std::string(1, '\0') + word) != std::string::npos) ++count;
    }
    return count;
}

TEST_F(JobTest, EndsWithAllThatAProgramHasStarted) {
    // A time that no other process sleeps for.
    const std::string time = "4" + std::to_string(::getpid()) + ".25";
    const std::string id = submit("setsid sleep " + time + " & (sleep " + time +
                                  " &) ; trap '' TERM; echo up > up; sleep " + time);
    reaches(id, "Running");
    eventually([&] { return !content(directory_.path() / "up").empty(); });
    eventually([&] { return processes_with(time) == 3; });
    EXPECT_EQ(run({"job", "cancel", id}).exit.code, 0);
    reaches(id, "Cancelled");
    EXPECT_EQ(processes_with(time), 0);
}

// R74.
TEST_F(JobTest, EndsAJobWhoseTimeIsOver) {
    const std::string id = submit("sleep 1000", {"--time", "1s"});
    EXPECT_EQ(run({"job", "wait", id, "--timeout", "60s"}).exit.code, 1);
    EXPECT_EQ(state_of(id), "Expired");
    EXPECT_EQ(run({"job", "retry", id}).exit.code, 0);
    reaches(id, "Expired");
    EXPECT_EQ(show(id)["attempt"], 2);
}

TEST_F(JobTest, FindsRunningJobsAgainAndNeverStartsOneTwice) {
    const std::string lasts =
        submit("echo begun >> begun; while [ ! -e go ]; do sleep 0.05; done; echo done");
    reaches(lasts, "Running");
    const std::string ends = submit("echo once >> once");
    reaches(ends, "Succeeded");
    const std::string meanwhile = submit("sleep 1; echo meanwhile");
    reaches(meanwhile, "Running");
    const std::string waits = submit("echo waited >> waited", {"--gpu", "2"});
    kill_server();
    const auto asked = run({"job", "list"});
    EXPECT_EQ(asked.exit.code, 3);
    EXPECT_THAT(asked.output, HasSubstr("aliquot serve"));
    std::this_thread::sleep_for(1s);  // one of them ends while there is no server
    start_server();
    EXPECT_EQ(state_of(lasts), "Running");
    reaches(meanwhile, "Succeeded");
    EXPECT_EQ(state_of(waits), "Queued");
    std::ofstream(directory_.path() / "go") << "";
    EXPECT_EQ(run({"job", "wait", lasts, waits}).exit.code, 0);
    EXPECT_EQ(content(directory_.path() / "begun"), "begun\n");
    EXPECT_EQ(content(directory_.path() / "once"), "once\n");
    EXPECT_EQ(content(directory_.path() / "waited"), "waited\n");
    EXPECT_THAT(run({"job", "logs", lasts}).output, HasSubstr("done"));
}

TEST_F(JobTest, QueuesWhatRanAgainAfterTheMachineWasStartedAnew) {
    const std::string id = submit("echo run >> runs; while [ ! -e go ]; do sleep 0.05; done");
    reaches(id, "Running");
    eventually([&] { return !content(directory_.path() / "runs").empty(); });
    kill_server();
    // What a power cut leaves: no runner, and a mark of another boot.
    const fs::path mark = state() / "jobs" / (id + ".1") / "started";
    std::istringstream words(content(mark));
    std::string boot;
    pid_t runner = 0;
    std::string ticks;
    words >> boot >> runner >> ticks;
    ASSERT_GT(runner, 1);
    ::kill(runner, SIGKILL);
    std::ofstream(mark) << "00000000-0000-4000-8000-000000000000 " << runner << " " << ticks
                        << "\n";
    start_server();
    eventually([&] { return show(id).value("attempt", 0) == 2; });
    std::ofstream(directory_.path() / "go") << "";
    EXPECT_EQ(run({"job", "wait", id, "--timeout", "60s"}).exit.code, 0);
    EXPECT_EQ(content(directory_.path() / "runs"), "run\nrun\n");
    EXPECT_THAT(show(id)["steps"].dump(), HasSubstr("Requeued"));
}

// R24.
TEST_F(JobTest, IsOneJobForTheSameTaskAndRefusesAnother) {
    const auto task = [&](const char* word) {
        return run({"job", "submit", "--task-id", "night", "--", "sh", "-c", word});
    };
    const auto first = task("sleep 1000");
    const auto again = task("sleep 1000");
    EXPECT_EQ(first.exit.code, 0) << first.output;
    EXPECT_THAT(again.output, HasSubstr(first.output));
    EXPECT_THAT(again.output, HasSubstr("there already"));
    const auto other = task("sleep 1001");
    EXPECT_EQ(other.exit.code, 3);
    EXPECT_THAT(other.output, HasSubstr("command: "));
}

TEST_F(JobTest, StartsAfterOthersAndNotAfterFailedOnes) {
    const std::string good = submit("sleep 0.3; echo first >> order");
    const std::string bad = submit("exit 1", {"--retries", "0"});
    const std::string next = submit("echo second >> order", {"--after", good});
    const std::string never = submit("echo never >> order", {"--after", bad});
    EXPECT_EQ(run({"job", "wait", next}).exit.code, 0);
    EXPECT_EQ(run({"job", "wait", never}).exit.code, 1);
    EXPECT_EQ(state_of(never), "Cancelled");
    EXPECT_EQ(content(directory_.path() / "order"), "first\nsecond\n");
}

// R66.
TEST_F(JobTest, RunsOnTheCpuWhenNoGpuComesInTime) {
    const std::string all = submit("sleep 1000", {"--gpu", "2"});
    reaches(all, "Running");
    const std::string id =
        submit("echo GPUs: $CUDA_VISIBLE_DEVICES, $NVIDIA_VISIBLE_DEVICES", {"--cpu-after", "1s"});
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 0);
    EXPECT_THAT(run({"job", "logs", id}).output, HasSubstr("GPUs: , none"));
    EXPECT_EQ(show(id)["onCpu"], true);
}

TEST_F(JobTest, RunsAnArrayWithAnIndexEach) {
    const auto done = run(
        {"job", "submit", "--array", "5", "--", "sh", "-c", "echo $ALIQUOT_ARRAY_INDEX >> all"});
    ASSERT_EQ(done.exit.code, 0) << done.output;
    std::vector<std::string> words{"job", "wait"};
    std::istringstream lines(done.output);
    for (std::string line; std::getline(lines, line);) words.push_back(line);
    ASSERT_EQ(words.size(), 7U);
    EXPECT_EQ(run(words).exit.code, 0);
    std::multiset<std::string> seen;
    std::istringstream all(content(directory_.path() / "all"));
    for (std::string line; std::getline(all, line);) seen.insert(line);
    EXPECT_EQ(seen, (std::multiset<std::string>{"0", "1", "2", "3", "4"}));
}

}  // namespace
}  // namespace aliquot
