// SPDX-License-Identifier: Apache-2.0
#include "os/spawner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/root.h"
#include "os/temporary_directory.h"
#include "tests/other_user.h"

namespace aliquot::os {
namespace {

using namespace std::chrono_literals;

TEST(Process, RunsWithExactlyTheEnvironmentGiven) {
    const TemporaryDirectory directory;
    const auto out = directory.path() / "out";
    auto process = Process::start({.argv = {"env"},
                                   .environment = {{"A", "1"}, {"PATH", "/usr/bin:/bin"}},
                                   .output_path = out.native()});
    ASSERT_TRUE(process) << process.error().message;
    const auto exit = process->wait(10s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
    const auto text = Root().read(out.native());
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "A=1\nPATH=/usr/bin:/bin\n");
}

TEST(Process, SaysThatAProgramDoesNotExist) {
    const auto process = Process::start({.argv = {"/no/such/program"}});
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().code, ErrorCode::kNotFound);
}

TEST(Process, AClosedFolderOfPathSaysNothingOfAProgram) {
    const TemporaryDirectory closed;
    const Command command{.argv = {"no-such-program"},
                          .environment = {{"PATH", closed.path().native() + ":/usr/bin"}}};
    ASSERT_EQ(::chmod(closed.path().c_str(), 0), 0);
    if (::geteuid() == 0 && !may_become_nobody()) GTEST_SKIP() << "cannot become somebody else";
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
        const auto process = Process::start(command);
        ::_exit(!process && process.error().code == ErrorCode::kNotFound ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(::chmod(closed.path().c_str(), 0700), 0);
}

TEST(Process, EndsTheWholeGroup) {
    auto process = Process::start({.argv = {"/bin/sh", "-c", "sleep 100 & wait"}});
    ASSERT_TRUE(process);
    EXPECT_FALSE(process->wait(20ms));
    EXPECT_EQ(process->terminate(2s).signal, 15);
}

TEST(Process, ReportsTheExitCode) {
    auto process = Process::start({.argv = {"/bin/sh", "-c", "exit 7"}});
    ASSERT_TRUE(process);
    const auto exit = process->wait(10s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 7);
}

}  // namespace
}  // namespace aliquot::os
