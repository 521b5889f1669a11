// SPDX-License-Identifier: Apache-2.0
// Jobs that hold a GPU and do not use it: told, then ended, by what a simulated driver measures.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "sim/node/node.h"
#include "tests/e2e/job_machine.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTenant = ALIQUOT_TEST_DIR "/cuda_tenant";

class JobIdleTest : public JobTest {
protected:
    void SetUp() override {
        std::filesystem::permissions(directory_.path(), fs::perms(0755));
        const fs::path where = directory_.path() / "node";
        auto node = sim::Node::create(where, {.gpus = {{.model = "a2", .count = 2}}},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        const fs::path driver = where / "lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
        gpus_ = {"--node-state", where.native()};
    }
    void serve_with(std::vector<std::string> more) {
        more_ = std::move(more);
        start_server();
    }
    /// A job of cuda_tenant with these steps.
    std::string tenant(const std::vector<std::string>& steps,
                       const std::vector<std::string>& flags = {}) {
        std::vector<std::string> words{"job", "submit"};
        words.insert(words.end(), flags.begin(), flags.end());
        words.insert(words.end(), {"--", kTenant});
        words.insert(words.end(), steps.begin(), steps.end());
        const auto done = run(words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return done.output.substr(0, done.output.find('\n'));
    }
    std::string steps_of(const std::string& id) { return show(id)["steps"].dump(); }

    std::optional<sim::Node> node_;
    const fs::path end_ = directory_.path() / "end";
    const std::string waits_ = "wait:" + end_.native();
    const std::vector<std::string> ends_{"--idle-after",   "2s", "--idle-grace",  "3s",
                                         "--idle-min-run", "0s", "--idle-action", "end"};
};

// R74.
TEST_F(JobIdleTest, OneWhoseGpuIsIdleIsToldThenEndedAndOneThatUsesItsGpuIsNot) {
    serve_with(ends_);
    const std::string busy = tenant({"spin:1000000"});
    reaches(busy, "Running");
    const std::string idle = tenant({"info", waits_});
    eventually([&] { return !show(idle).value("idleSince", "").empty(); });
    EXPECT_EQ(state_of(idle), "Running");
    EXPECT_THAT(
        show(idle)["reason"].get<std::string>(),
        AllOf(HasSubstr("its GPUs are idle: GPU use below 5 % for"), HasSubstr("it is ended at")));
    reaches(idle, "Cancelled");
    EXPECT_EQ(show(idle)["cause"], "idle");
    EXPECT_THAT(show(idle)["reason"].get<std::string>(),
                testing::StartsWith("ended: GPU use below 5 % for"));
    EXPECT_EQ(show(idle)["attempt"], 1);
    EXPECT_EQ(run({"job", "wait", idle}).exit.code, 1);
    EXPECT_EQ(state_of(busy), "Running");
    EXPECT_THAT(steps_of(busy), Not(HasSubstr("idle")));
    const std::string log = content(directory_.path() / "server.log");
    EXPECT_THAT(log, AllOf(HasSubstr("job.idle"), HasSubstr("job.ended_idle")));
    // Tried again on demand, it begins anew.
    EXPECT_EQ(run({"job", "retry", idle}).exit.code, 0);
    std::ofstream(end_) << "";
    reaches(idle, "Succeeded");
}

TEST_F(JobIdleTest, OfTwoSharesOfOneGpuOnlyTheIdleOneIsEnded) {
    server_variables_ = {{"ALIQUOT_RUN_DIRECTORY", (directory_.path() / "books").native()}};
    serve_with(ends_);
    const std::vector<std::string> share{"--gpu-memory", "4Gi", "--gpu-compute", "50"};
    const std::string busy = tenant({"spin:1000000"}, share);
    reaches(busy, "Running");
    const std::string idle = tenant({"info", waits_}, share);
    reaches(idle, "Cancelled");
    EXPECT_EQ(show(idle)["cause"], "idle");
    EXPECT_EQ(show(idle)["devices"], show(busy)["devices"]);
    EXPECT_EQ(state_of(busy), "Running");
    EXPECT_THAT(steps_of(busy), Not(HasSubstr("idle")));
}

TEST_F(JobIdleTest, WhoIsToldAndUsesItsGpuAgainGoesOn) {
    serve_with({"--idle-after", "2s", "--idle-min-run", "0s"});
    const std::string id = tenant({waits_, "spin:1000000"});
    eventually([&] { return !show(id).value("idleSince", "").empty(); });
    EXPECT_THAT(show(id)["reason"].get<std::string>(), Not(HasSubstr("ended")));
    std::ofstream(end_) << "";
    eventually([&] { return steps_of(id).find("its GPUs are used again") != std::string::npos; });
    EXPECT_FALSE(show(id).contains("idleSince"));
    EXPECT_EQ(state_of(id), "Running");
}

TEST_F(JobIdleTest, AServerThatWasKilledRemembersWhoWasTold) {
    std::vector<std::string> slow = ends_;
    slow[3] = "20s";
    serve_with(slow);
    const std::string id = tenant({waits_});
    eventually([&] { return !show(id).value("idleSince", "").empty(); });
    const std::string since = show(id)["idleSince"];
    kill_server();
    start_server();
    EXPECT_EQ(show(id).value("idleSince", ""), since);
    // Ended at the time that it was told of: the stretch did not begin anew.
    reaches(id, "Cancelled");
    EXPECT_EQ(show(id)["cause"], "idle");
    const std::string steps = steps_of(id);
    const auto told = steps.find("its GPUs are idle");
    ASSERT_NE(told, std::string::npos) << steps;
    EXPECT_EQ(steps.find("its GPUs are idle", told + 1), std::string::npos) << steps;
}

TEST_F(JobIdleTest, OffByDefaultAndNeverForWhatHasNoGpu) {
    serve_with({"--idle-min-run", "0s"});
    EXPECT_EQ(run({"job", "submit", "--idle-after", "30s", "--", "true"}).exit.code, 2);
    const std::string own = tenant({waits_}, {"--idle-after", "2h"});
    reaches(own, "Running");
    EXPECT_EQ(show(own)["request"]["idle_after_seconds"], 7200);
    EXPECT_FALSE(show(own).contains("idleSince"));
    server_->signal(SIGTERM);
    server_->wait(30s);
    serve_with({"--idle-after", "1s", "--idle-min-run", "0s", "--idle-action", "end",
                "--idle-grace", "0s", "--idle-most", "30m"});
    EXPECT_EQ(run({"job", "submit", "--idle-after", "1h", "--", "true"}).exit.code, 2);
    const std::string other = tenant({waits_}, {"--idle-after", "30m"});
    reaches(other, "Running");
    // Both GPUs are held by jobs with longer times of their own: this one runs on the CPU.
    const std::string cpu = submit("sleep 6", {"--cpu-after", "1s"});
    reaches(cpu, "Succeeded");
    EXPECT_EQ(state_of(own), "Running");
    EXPECT_EQ(state_of(other), "Running");
}

}  // namespace
}  // namespace aliquot
