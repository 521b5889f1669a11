// SPDX-License-Identifier: Apache-2.0
#include "os/replace_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/descriptor.h"
#include "os/root.h"
#include "os/temporary_directory.h"

namespace aliquot::os {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReplaceFile : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path path(const std::string& name) const {
        return directory_.path() / name;
    }
    [[nodiscard]] std::string text(const std::string& name) const {
        return *Root(directory_.path()).read("/" + name);
    }
    [[nodiscard]] std::vector<std::string> names() const {
        return *Root(directory_.path()).list("/");
    }
    [[nodiscard]] unsigned mode(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::stat(path(name).c_str(), &status), 0);
        return status.st_mode & 07777U;
    }
    TemporaryDirectory directory_;
};

TEST_F(ReplaceFile, KeepsTheModeOfTheFileUnlessOneIsGiven) {
    ASSERT_TRUE(replace_file(path("a"), "1", 0640));
    EXPECT_EQ(mode("a"), 0640U);
    ASSERT_TRUE(replace_file(path("a"), "2", std::nullopt));
    EXPECT_EQ(mode("a"), 0640U);
    EXPECT_EQ(text("a"), "2");
    const mode_t before = ::umask(027);
    ASSERT_TRUE(replace_file(path("b"), "", std::nullopt));
    ::umask(before);
    EXPECT_EQ(mode("b"), 0640U);
    EXPECT_THAT(names(), ElementsAre("a", "b"));
}

// What a writer left that was killed stayed for ever. One that lives holds its lock, wherever it runs.
TEST_F(ReplaceFile, RemovesWhatADeadWriterOfTheSameFileLeftAndNothingElse) {
    for (const char* const name :
         {".a.tmp1.0", ".a.tmp99999999.7", ".b.tmp1.0", ".a.tmp", ".a.tmp1.x", "a.tmp1.0"})
        std::ofstream(path(name)) << "half";
    const Descriptor alive(::open(path(".a.tmp5.5").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(alive.get(), LOCK_EX), 0);
    ASSERT_TRUE(replace_file(path("a"), "whole", 0644));
    EXPECT_THAT(names(),
                ElementsAre(".a.tmp", ".a.tmp1.x", ".a.tmp5.5", ".b.tmp1.0", "a", "a.tmp1.0"));
}

TEST_F(ReplaceFile, ManyWritersOfOneFileDoNotDisturbEachOther) {
    std::vector<std::jthread> writers;
    std::atomic<int> failed = 0;
    for (int writer = 0; writer < 4; ++writer) {
        writers.emplace_back([&, writer] {
            for (int i = 0; i < 50; ++i) {
                if (!replace_file(path("a"), std::string(1000, static_cast<char>('0' + writer)),
                                  0644))
                    ++failed;
            }
        });
    }
    writers.clear();
    EXPECT_EQ(failed, 0);
    EXPECT_THAT(names(), ElementsAre("a"));
    EXPECT_EQ(text("a"), std::string(1000, text("a").front()));
}

TEST_F(ReplaceFile, AFullDeviceIsAnErrorAndStaysADevice) {
    const auto written = write_output("/dev/full", "text");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("/dev/full: No space left on device"));
    struct stat status {};
    ASSERT_EQ(::stat("/dev/full", &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(ReplaceFile, AnOutputThroughALinkLeavesTheLink) {
    std::ofstream(path("real")) << "old";
    std::filesystem::create_symlink("real", path("link"));
    ASSERT_TRUE(write_output(path("link"), "new"));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(text("real"), "new");
    const auto nowhere = write_output(path("none/x"), "");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace aliquot::os
