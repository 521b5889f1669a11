// SPDX-License-Identifier: Apache-2.0
#include "guard_region/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/region.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

class DirectoryTest : public testing::Test {
protected:
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    Directory regions_{root_, "/run/aliquot/regions"};
    Settings settings_{.devices = {{.uuid = kGpu, .memory_bytes = 1 << 30}}};
};

TEST_F(DirectoryTest, ARegionIsCompleteAndFoundAgain) {
    const auto made = regions_.create(
        {.resource = "nvidia.com/gpu", .device_ids = {"a::1"}, .uuids = {kGpu}}, settings_);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->id.size(), 32U);
    const auto listed = regions_.list();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0], *made);
    EXPECT_EQ(regions_.guard_path(made->id), "/run/aliquot/regions/" + made->id + "/guard");
    EXPECT_TRUE(ConfigFile::open(regions_.file(made->id, abi::kConfigFile)));
    EXPECT_NE(made->ledger, 0U);
    // No file here is anybody's to make larger, and nobody but root comes here on the host's side.
    EXPECT_FALSE(fs::exists(regions_.file(made->id, abi::kLedgerFile)));
    EXPECT_EQ(fs::status(directory_.path() / "run/aliquot/regions" / made->id).permissions(),
              fs::perms(0700));
}

TEST_F(DirectoryTest, KeepsWhatIsWrittenLater) {
    auto made = regions_.create({}, settings_);
    ASSERT_TRUE(made);
    made->holder = "ai/train/main";
    ASSERT_TRUE(regions_.update(*made));
    EXPECT_EQ(regions_.list().at(0).holder, "ai/train/main");
}

TEST_F(DirectoryTest, LeavesNothingOfARegionThatCannotBe) {
    settings_.devices[0].uuid = "nonsense";
    EXPECT_FALSE(regions_.create({}, settings_));
    EXPECT_TRUE(regions_.list().empty());
    EXPECT_TRUE(root_.list("/run/aliquot/regions")->empty());
}

TEST_F(DirectoryTest, RemovesRegionsAndUnfinishedOnesButNothingElse) {
    const auto made = regions_.create({}, settings_);
    ASSERT_TRUE(made);
    ASSERT_TRUE(root_.make_directories("/run/aliquot/regions/.new-abc/guard"));
    ASSERT_TRUE(root_.write_atomically("/run/aliquot/other", ""));
    regions_.sweep();
    EXPECT_EQ(root_.list("/run/aliquot/regions")->size(), 1U);
    EXPECT_FALSE(regions_.remove("../other"));
    EXPECT_TRUE(regions_.remove(made->id));
    EXPECT_TRUE(regions_.remove(made->id));
    EXPECT_TRUE(root_.list("/run/aliquot/regions")->empty());
    EXPECT_TRUE(root_.exists("/run/aliquot/other"));
}

// A tenant can fill /run; writing a new file through its mapping then ended the agent with SIGBUS.
TEST_F(DirectoryTest, AFullFileSystemIsARefusalThatLeavesNothing) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr int kNoMount = 77;
        const std::string place = directory_.path().native();
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", place.c_str(), "tmpfs", 0, "size=64k") != 0) {
            ::_exit(kNoMount);
        }
        const int filler =
            ::open((place + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const std::string block(4096, 'x');
        while (::write(filler, block.data(), block.size()) > 0) {
        }
        const auto made = regions_.create({.resource = "nvidia.com/gpu"}, settings_);
        const bool refused = !made && made.error().message.contains("No space left");
        ::_exit(refused && regions_.list().empty() &&
                        fs::is_empty(directory_.path() / "run/aliquot/regions")
                    ? 0
                    : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs the right to mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace aliquot::guard_region
