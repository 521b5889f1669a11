// SPDX-License-Identifier: Apache-2.0
// Jobs on GPUs with a driver (a simulated node's): shares that hold.
#include <gmock/gmock.h>
#include <pwd.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "sim/node/node.h"
#include "tests/e2e/job_machine.h"
#include "tests/other_user.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTenant = ALIQUOT_TEST_DIR "/cuda_tenant";

class JobShareTest : public JobTest {
protected:
    void SetUp() override {
        const fs::path where = directory_.path() / "node";
        auto node = sim::Node::create(where, {.gpus = {{.model = "a2", .count = gpus()}}},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        const fs::path driver = where / "lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
        gpus_ = {"--node-state", where.native()};
        server_variables_ = {{"ALIQUOT_RUN_DIRECTORY", books_.native()}};
        JobTest::SetUp();
    }
    [[nodiscard]] virtual unsigned gpus() const { return 2; }
    /// A job of cuda_tenant with these steps.
    std::string tenant(const std::vector<std::string>& steps,
                       const std::vector<std::string>& flags) {
        std::vector<std::string> words{"job", "submit", "--retries", "0"};
        words.insert(words.end(), flags.begin(), flags.end());
        words.insert(words.end(), {"--", kTenant});
        words.insert(words.end(), steps.begin(), steps.end());
        const auto done = run(words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return done.output.substr(0, done.output.find('\n'));
    }

    std::optional<sim::Node> node_;
    fs::path books_ = directory_.path() / "books";
};

TEST_F(JobShareTest, AShareGetsItsGpuMemoryAndNoMore) {
    const std::string id =
        tenant({"info", "alloc:1073741824", "alloc:3221225472"}, {"--gpu-memory", "2Gi"});
    EXPECT_EQ(run({"job", "wait", id, "--timeout", "60s"}).exit.code, 0)
        << run({"job", "logs", id}).output;
    EXPECT_THAT(run({"job", "logs", id}).output, HasSubstr("total 2147483648\nalloc 0\nalloc 2\n"));
    EXPECT_THAT(show(id)["limits"].get<std::string>(),
                HasSubstr("GPU memory and compute by the guard"));

    const std::string whole = tenant({"alloc:3221225472"}, {"--gpu", "1"});
    EXPECT_EQ(run({"job", "wait", whole, "--timeout", "60s"}).exit.code, 0);
    EXPECT_THAT(run({"job", "logs", whole}).output, HasSubstr("alloc 0\n"));
}

TEST_F(JobShareTest, SharesOfOneGpuRunBesideEachOtherEachWithItsLimit) {
    const fs::path end = directory_.path() / "end";
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(
            tenant({"info", "alloc:3221225472", "wait:" + end.native()}, {"--gpu-memory", "7Gi"}));
    }
    for (const std::string& id : ids) {
        eventually([&] {
            return run({"job", "logs", id}).output.find("total 7516192768\nalloc 0\n") !=
                   std::string::npos;
        });
    }
    std::map<std::string, int> uses;
    for (const std::string& id : ids) ++uses[show(id)["devices"][0]];
    EXPECT_EQ(uses.size(), 2U);
    std::ofstream(end) << "";
    std::vector<std::string> words{"job", "wait"};
    words.insert(words.end(), ids.begin(), ids.end());
    EXPECT_EQ(run(words).exit.code, 0);
}

/// Two users of root's server, one GPU.
class TwoUsersTest : public JobShareTest {
protected:
    [[nodiscard]] unsigned gpus() const override { return 1; }
    void SetUp() override {
        if (!may_become_nobody() || ::getpwnam("daemon") == nullptr)  // NOLINT: one thread
            GTEST_SKIP() << "needs root, and the users nobody and daemon";
        more_ = {"--socket-mode", "0666"};
        JobShareTest::SetUp();
        // The simulated driver's state is that of a device: open to all.
        for (const auto& one : fs::recursive_directory_iterator(directory_.path() / "node")) {
            if (!one.is_symlink())
                fs::permissions(one.path(), fs::perms(one.is_directory() ? 0777 : 0666));
        }
        fs::permissions(directory_.path() / "node", fs::perms(0777));
    }
    /// What `aliquot job ...` says when that user asks.
    os::Exchange as(const std::string& user, const std::vector<std::string>& words) {
        os::Command command;
        command.argv = {"setpriv",        "--reuid=" + user, "--regid=" + user,
                        "--clear-groups", kAliquot,          "job"};
        if (user == "nobody") command.argv[2] = "--regid=nogroup";
        command.argv.insert(command.argv.end(), words.begin(), words.end());
        command.environment = os::current_environment();
        command.environment["ALIQUOT_JOBS"] = address();
        command.working_directory = "/";
        auto done = os::exchange(command, "", {.deadline = std::chrono::seconds(60)});
        EXPECT_TRUE(done) << done.error().message;
        return done ? *done : os::Exchange{};
    }
    std::string submit_as(const std::string& user, std::vector<std::string> words,
                          const std::vector<std::string>& program) {
        words.insert(words.begin(), {"submit", "--retries", "0"});
        words.emplace_back("--");
        words.insert(words.end(), program.begin(), program.end());
        const auto done = as(user, words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return done.output.substr(0, done.output.find('\n'));
    }
};

TEST_F(TwoUsersTest, EachGetsItsPartOfTheGpusTimeAndNoMore) {
    if (as("nobody", {"list"}).exit.code != 0)
        GTEST_SKIP() << "the user nobody cannot run programs here";
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::string at = std::to_string((now.tv_sec + 6) * 1'000'000'000);
    // Kernels of 1 ms, eight deep, as many as there is time for: 1 s to warm up, 5 s that are measured.
    const std::vector<std::string> program{ALIQUOT_TEST_DIR "/guard-tenant",
                                           "1000",
                                           "8",
                                           "100000",
                                           "0",
                                           "0",
                                           at,
                                           "1000",
                                           "5000",
                                           "1",
                                           "1"};
    const std::string small =
        submit_as("nobody", {"--gpu-compute", "30", "--gpu-memory", "4Gi"}, program);
    const std::string large =
        submit_as("daemon", {"--gpu-compute", "70", "--gpu-memory", "8Gi"}, program);
    const auto share = [&](const std::string& id) {
        EXPECT_EQ(run({"job", "wait", id, "--timeout", "90s"}).exit.code, 0)
            << run({"job", "logs", id}).output;
        return std::strtod(run({"job", "logs", id}).output.c_str(), nullptr);
    };
    const double thirty = share(small);
    const double seventy = share(large);
    std::printf("30:70 for two users: %.1f and %.1f %% of the GPU\n", thirty, seventy);
    EXPECT_EQ(show(small)["devices"], show(large)["devices"]);
    EXPECT_EQ(show(small)["user"], "nobody");
    EXPECT_EQ(show(large)["user"], "daemon");
    // Caps hold on any machine; how much of the rest is used goes with the processors that the programs get.
    EXPECT_LT(thirty, 33);
    EXPECT_LT(seventy, 73);
    EXPECT_GT(thirty, 5);
    EXPECT_GT(seventy, thirty * 1.5);
}

TEST_F(TwoUsersTest, TheGuardTakesNoVariableOfTheSubmitterAndTheProgramHasHisUser) {
    if (as("nobody", {"list"}).exit.code != 0)
        GTEST_SKIP() << "the user nobody cannot run programs here";
    const fs::path trap = directory_.path() / "trap";
    const std::string id = submit_as(
        "nobody",
        {"--gpu-memory", "2Gi", "--env", "LD_PRELOAD=/no/such/library.so", "--env",
         "ALIQUOT_RUN_DIRECTORY=" + trap.native(), "--env", "PATH=/no/such/folder"},
        {"/bin/sh", "-c", "/usr/bin/id -u; /usr/bin/id -G; echo \"$LD_PRELOAD\"; pwd; umask"});
    EXPECT_EQ(run({"job", "wait", id, "--timeout", "60s"}).exit.code, 0)
        << run({"job", "logs", id}).output;
    const std::string logs = run({"job", "logs", id}).output;
    // His library is asked for by his shell and its two programs, and by nothing that is root's before.
    std::size_t missed = 0;
    for (auto at = logs.find("ld.so"); at != std::string::npos; at = logs.find("ld.so", at + 1))
        ++missed;
    EXPECT_EQ(missed, 3U) << logs;
    EXPECT_THAT(logs, testing::ContainsRegex("\n65534\n(.*\n)?65534\n"));
    EXPECT_THAT(logs, HasSubstr("libaliquot-guard.so:/no/such/library.so\n/\n0022\n"));
    EXPECT_FALSE(fs::exists(trap));
    // Nor does his program's name become an option of what is root's.
    fs::copy_file("/bin/true", directory_.path() / "--overcommit");
    const std::string named = submit_as("nobody", {"--gpu-memory", "2Gi"},
                                        {(directory_.path() / "--overcommit").native()});
    EXPECT_EQ(run({"job", "wait", named, "--timeout", "60s"}).exit.code, 0)
        << run({"job", "logs", named}).output;
    EXPECT_EQ(as("daemon", {"logs", id}).exit.code, 3);
}

}  // namespace
}  // namespace aliquot
