// SPDX-License-Identifier: Apache-2.0
#include "os/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/temporary_directory.h"

namespace aliquot::os {
namespace {

TEST(Root, WritesAFileThatReadsBack) {
    const TemporaryDirectory directory;
    const Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/var/run/cdi/x.json", "{}"));
    const auto text = root.read("/var/run/cdi/x.json");
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "{}");
    const auto names = root.list("/var/run/cdi");
    ASSERT_TRUE(names);
    EXPECT_THAT(*names, ::testing::ElementsAre("x.json"));  // no temporary file is left
}

TEST(Root, RefusesToLeaveTheTree) {
    const TemporaryDirectory directory;
    const Root root(directory.path());
    const auto written = root.write_atomically("/../x", "");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(root.read("../../etc/passwd"));
}

TEST(Root, RefusesAFileOverTheLimit) {
    const TemporaryDirectory directory;
    const Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/big", std::string(100, 'x')));
    const auto text = root.read("/big", 99);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidInput);
}

TEST(Root, APipeThatNobodyWritesKeepsNobodyWaiting) {
    const TemporaryDirectory directory;
    const Root root(directory.path());
    ASSERT_EQ(::mkfifo(root.resolve("/pipe").c_str(), 0666), 0);
    const auto text = root.read("/pipe");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidInput);
}

TEST(Root, IdentityChangesWhenAFileIsReplaced) {
    const TemporaryDirectory directory;
    const Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/a", "1"));
    const auto before = root.status("/a");
    ASSERT_TRUE(root.write_atomically("/a", "1"));
    const auto after = root.status("/a");
    ASSERT_TRUE(before && after);
    EXPECT_NE(before->identity, after->identity);
}

TEST(Root, SaysWhatIsMissing) {
    const TemporaryDirectory directory;
    const auto text = Root(directory.path()).read("/nowhere");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
    EXPECT_NE(text.error().message.find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::os
