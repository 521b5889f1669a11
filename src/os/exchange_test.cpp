// SPDX-License-Identifier: Apache-2.0
#include "os/exchange.h"

#include <gtest/gtest.h>

#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::os {
namespace {

using namespace std::chrono_literals;

TEST(Exchange, GivesTheInputAndReturnsWhatTheProgramSays) {
    const auto done = exchange({.argv = {"/bin/cat"}, .environment = {}}, "get_server_list\n", {});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->output, "get_server_list\n");
    EXPECT_EQ(done->exit.code, 0);
}

TEST(Exchange, ReturnsTheExitCodeAndWhatWasSaidToStandardError) {
    const auto done = exchange(
        {.argv = {"/bin/sh", "-c", "echo trouble >&2; exit 3"}, .environment = {}}, "", {});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->output, "trouble\n");
    EXPECT_EQ(done->exit.code, 3);
}

TEST(Exchange, EndsAProgramThatDoesNotAnswerOrNeverStopsTalking) {
    const auto silent =
        exchange({.argv = {"/bin/sleep", "1000"}, .environment = {}}, "", {.deadline = 50ms});
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code, ErrorCode::kUnavailable);
    const auto endless = exchange({.argv = {"/bin/cat", "/dev/zero"}, .environment = {}}, "",
                                  {.deadline = 60s, .output_bytes = 10000});
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().message, "/bin/cat says more than 10000 bytes");
}

TEST(Exchange, AProgramCanSeeOneDirectoryInThePlaceOfAnother) {
    const TemporaryDirectory here;
    const auto source = here.path() / "source";
    const auto target = here.path() / "target";
    std::filesystem::create_directories(source);
    std::filesystem::create_directories(target);
    std::ofstream(source / "mark");
    Command command{.argv = {"/bin/ls", target.string()}, .environment = {}};
    command.binds.push_back({.source = source.string(), .target = target.string()});
    const auto done = exchange(command, "", {});
    if (!done && done.error().code == ErrorCode::kPermission) {
        GTEST_SKIP() << "needs CAP_SYS_ADMIN and a root directory that is a mount point";
    }
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->output, "mark\n");
    EXPECT_TRUE(std::filesystem::is_empty(target)) << "the mount is seen outside";
}

}  // namespace
}  // namespace aliquot::os
