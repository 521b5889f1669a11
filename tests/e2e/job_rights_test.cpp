// SPDX-License-Identifier: Apache-2.0
// What `aliquot serve` refuses, hides and cuts.
#include <gmock/gmock.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/e2e/job_machine.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

TEST_F(JobTest, CutsOutputAndHidesVariables) {
    server_->signal(SIGTERM);
    server_->wait(30s);
    more_ = {"--output-limit", "100Ki"};
    start_server();
    const std::string id = submit("yes | head -c 1000000", {"--env", "TOKEN=s3cret"});
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 0);
    const auto logs = run({"job", "logs", id}).output;
    EXPECT_LT(logs.size(), 110'000U);
    EXPECT_THAT(logs, HasSubstr("output is cut here"));
    for (const char* format : {"table", "json", "yaml"}) {
        EXPECT_THAT(run({"job", "show", id, "-o", format}).output,
                    testing::AllOf(HasSubstr("TOKEN"), testing::Not(HasSubstr("s3cret"))));
    }
    EXPECT_THAT(content(directory_.path() / "server.log"), testing::Not(HasSubstr("s3cret")));
}

TEST_F(JobTest, NamesWhatIsWrong) {
    const auto said = [&](std::vector<std::string> words, int code) {
        const auto done = run(std::move(words));
        EXPECT_EQ(done.exit.code, code) << done.output;
        return done.output;
    };
    EXPECT_THAT(said({"job", "submit", "--gpu", "4", "--", "true"}, 2), HasSubstr("gpu_count"));
    EXPECT_THAT(said({"job", "submit", "--gpu-type", "h100", "--", "true"}, 2),
                HasSubstr("NVIDIA A2"));
    EXPECT_THAT(said({"job", "submit", "--gpu-memory", "70Gi", "--", "true"}, 2),
                HasSubstr("gpu_memory"));
    EXPECT_THAT(said({"job", "submit"}, 2), HasSubstr("COMMAND: is empty"));
    EXPECT_THAT(said({"job", "show", "999"}, 3), HasSubstr("no job 999"));
    EXPECT_THAT(said({"job", "show", "x"}, 2), HasSubstr("'x' is not a job"));
    const std::string id = submit("/no/such/program; exec /no/such/program", {"--retries", "0"});
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 1);
    const auto gone = run({"job", "submit", "--", "/no/such/program"});
    const std::string never = gone.output.substr(0, gone.output.find('\n'));
    EXPECT_EQ(run({"job", "wait", never}).exit.code, 1);
    EXPECT_EQ(show(never)["cause"], "not-started");
    EXPECT_EQ(show(never)["attempt"], 1);
}

TEST_F(JobTest, LetsOnlyItsOwnerAndRootActOnAJob) {
    const passwd* const nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe)
    if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root and the user nobody";
    server_->signal(SIGTERM);
    server_->wait(30s);
    more_ = {"--socket-mode", "0666"};
    start_server();
    const std::string roots = submit("id -u; sleep 1000", {"--env", "TOKEN=s3cret"});
    reaches(roots, "Running");
    const auto as_nobody = [&](const std::string& words) {
        os::Command command;
        command.argv = {"setpriv",
                        "--reuid=nobody",
                        "--clear-groups",
                        "sh",
                        "-c",
                        "cd / && exec " + std::string(kAliquot) + " job " + words};
        command.environment = os::current_environment();
        command.environment["ALIQUOT_JOBS"] = address();
        auto done = os::exchange(command, "", {.deadline = 60s});
        EXPECT_TRUE(done) << done.error().message;
        return done ? *done : os::Exchange{};
    };
    if (as_nobody("list").exit.code != 0)
        GTEST_SKIP() << "the user nobody cannot run programs here";
    for (const char* act : {"logs ", "cancel ", "delete ", "retry ", "explain "}) {
        const auto done = as_nobody(act + roots);
        EXPECT_EQ(done.exit.code, 3) << act << done.output;
        EXPECT_THAT(done.output, HasSubstr("of user root")) << act;
    }
    const auto shown = as_nobody("show " + roots + " -o json");
    EXPECT_THAT(shown.output, testing::Not(HasSubstr("TOKEN")));
    EXPECT_THAT(shown.output, testing::Not(HasSubstr("sleep 1000")));
    const auto own = as_nobody("submit -- sh -c 'id -u; id -G; exec sleep 1000'");
    ASSERT_EQ(own.exit.code, 0) << own.output;
    const std::string id = own.output.substr(0, own.output.find('\n'));
    reaches(id, "Running");
    eventually([&] { return !as_nobody("logs " + id).output.empty(); });
    EXPECT_THAT(as_nobody("logs " + id).output,
                testing::StartsWith(std::to_string(nobody->pw_uid) + "\n"));
    struct stat status {};
    ASSERT_EQ(::stat((state() / "jobs" / (id + ".1") / "output").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, nobody->pw_uid);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(run({"job", "cancel", id}).exit.code, 0);
    reaches(id, "Cancelled");
}

}  // namespace
}  // namespace aliquot
