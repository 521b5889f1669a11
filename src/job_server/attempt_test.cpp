// SPDX-License-Identifier: Apache-2.0
#include "job_server/attempt.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "os/temporary_directory.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Attempt : public testing::Test {
protected:
    void prepare(const std::string& script) {
        Spec spec;
        spec.argv = {"sh", "-c", script};
        spec.env = {{"PATH", "/usr/bin:/bin"}};
        spec.uid = ::getuid();
        spec.gid = ::getgid();
        spec.seconds = 100;
        spec.grace_ms = 100;
        ASSERT_TRUE(prepare_attempt(directory(), spec));
    }
    pid_t begin() {
        const pid_t runner = ::fork();
        if (runner == 0) {
            const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
            ::dup2(null, STDOUT_FILENO);
            ::_exit(run_attempt(directory()));
        }
        return runner;
    }
    bool becomes(Look::Kind kind) {
        for (int i = 0; i < 6'000; ++i) {
            if (look_at(directory()).kind == kind) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }
    std::string output() {
        std::ifstream in(directory() / kOutputFile);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    fs::path directory() { return directory_.path() / "1.1"; }
    os::TemporaryDirectory directory_;
};

TEST_F(Attempt, RunsOnceHoweverManyRunnersThereAre) {
    prepare("echo one");
    std::vector<pid_t> runners;
    for (int i = 0; i < 8; ++i) runners.push_back(begin());
    for (const pid_t one : runners) ::waitpid(one, nullptr, 0);
    const Look look = look_at(directory());
    EXPECT_EQ(look.kind, Look::Kind::kEnded);
    EXPECT_EQ(look.ending.cause, jobs::Cause::kNone);
    EXPECT_EQ(output(), "one\n");
}

TEST_F(Attempt, ThatWasTakenBackNeverBegins) {
    prepare("echo one");
    EXPECT_EQ(look_at(directory()).kind, Look::Kind::kNew);
    EXPECT_TRUE(take_back(directory()));
    ::waitpid(begin(), nullptr, 0);
    EXPECT_EQ(look_at(directory()).kind, Look::Kind::kVoid);
    EXPECT_EQ(output(), "");
    EXPECT_FALSE(take_back(directory()));
}

TEST_F(Attempt, EitherBeginsOrIsTakenBack) {
    for (int round = 0; round < 50; ++round) {
        prepare("echo one");
        const pid_t runner = begin();
        std::this_thread::sleep_for(std::chrono::microseconds(round * 60));
        const bool taken = take_back(directory());
        ::waitpid(runner, nullptr, 0);
        EXPECT_EQ(output(), taken ? "" : "one\n") << round;
        fs::remove_all(directory());
    }
}

TEST_F(Attempt, IsLostWhenItsRunnerIsKilledAndNothingOfItGoesOn) {
    prepare("(sleep 977 &) ; echo begun; sleep 977");
    const pid_t runner = begin();
    while (output().empty()) std::this_thread::sleep_for(5ms);
    EXPECT_EQ(look_at(directory()).kind, Look::Kind::kAlive);
    EXPECT_TRUE(open_runner(look_at(directory())));
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
    ASSERT_TRUE(becomes(Look::Kind::kLost));
    const Look lost = look_at(directory());
    EXPECT_EQ(lost.boot, boot_id());
    EXPECT_FALSE(open_runner(lost));
    end_left_over(lost, "");
}

TEST_F(Attempt, OfAnEarlierBootIsLost) {
    prepare("true");
    std::ofstream(directory() / kStartedFile) << "00000000-0000-0000-0000-000000000000 1 1\n";
    const Look look = look_at(directory());
    EXPECT_EQ(look.kind, Look::Kind::kLost);
    EXPECT_NE(look.boot, boot_id());
    EXPECT_FALSE(open_runner(look));
}

TEST_F(Attempt, KeepsEverythingOfItsSpecOnDisk) {
    Spec spec;
    spec.argv = {"a b", "\"'\n", "", "\xc3\xa4"};
    spec.env = {{"A", "1=2"}, {"B", ""}};
    spec.workdir = "/tmp";
    spec.uid = 4'000'000'000;
    spec.seconds = 7;
    spec.memory_bytes = UINT64_MAX / 2;
    const auto read = read_spec(to_text(spec));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_text(*read), to_text(spec));
    EXPECT_EQ(read->argv, spec.argv);
    EXPECT_EQ(read->env, spec.env);
    EXPECT_EQ(read->uid, spec.uid);
    EXPECT_FALSE(read_spec("{}"));
    EXPECT_FALSE(read_spec("x"));
}

}  // namespace
}  // namespace aliquot::job_server
