// SPDX-License-Identifier: Apache-2.0
#include "agent/config_source.h"

#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

constexpr const char* kGood =
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: "
    "4}\n";

class ConfigSourceTest : public ::testing::Test {
protected:
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    ConfigSource source_{root_, "/etc/c.yaml", "/var/lib/aliquot", sharing::Compatibility::kStrict};
};

TEST_F(ConfigSourceTest, NoFileIsTheDefault) {
    ConfigSource source(root_, "", "/var/lib/aliquot", sharing::Compatibility::kStrict);
    EXPECT_TRUE(source.read().config);
    EXPECT_FALSE(source.changed());
    EXPECT_FALSE(source.read_last_good());
}

TEST_F(ConfigSourceTest, AMissingFileIsAProblemThatNamesIt) {
    const auto read = source_.read();
    EXPECT_FALSE(read.config);
    EXPECT_NE(read.problem.find("/etc/c.yaml"), std::string::npos);
}

TEST_F(ConfigSourceTest, NoticesThatTheFileWasReplaced) {
    ASSERT_TRUE(root_.write_atomically("/etc/c.yaml", kGood));
    ASSERT_TRUE(source_.read().config);
    EXPECT_FALSE(source_.changed());
    ASSERT_TRUE(root_.write_atomically("/etc/c.yaml", "version: v9\n"));
    EXPECT_TRUE(source_.changed());
    const auto bad = source_.read();
    EXPECT_FALSE(bad.config);
    EXPECT_FALSE(bad.findings.empty());
    EXPECT_FALSE(source_.changed());  // read once, complained once
    ASSERT_TRUE(root_.remove("/etc/c.yaml"));
    EXPECT_TRUE(source_.changed());
}

TEST_F(ConfigSourceTest, KeepsTheLastGoodOneForTheNextStart) {
    EXPECT_FALSE(source_.read_last_good());
    source_.keep(kGood);
    ConfigSource next(root_, "/etc/c.yaml", "/var/lib/aliquot", sharing::Compatibility::kStrict);
    const auto last = next.read_last_good();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->config->sharing.resources.front().replicas, 4U);
}

TEST_F(ConfigSourceTest, TakesWhatIsSuppliedByVersion) {
    SuppliedConfig supplied;
    supplied.choice.problem = "no answer yet";
    ConfigSource source(root_, "", "/var/lib/aliquot", sharing::Compatibility::kStrict,
                        [&] { return supplied; });
    EXPECT_EQ(source.read().problem, "no answer yet");
    EXPECT_FALSE(source.changed());
    supplied = {.name = "aliquot-config/a2", .choice = {.key = "a2", .text = kGood}, .version = 1};
    EXPECT_TRUE(source.changed());
    const auto good = source.read();
    ASSERT_TRUE(good.config);
    source.keep(good.text);
    EXPECT_EQ(source.file(), "aliquot-config/a2");
    supplied.choice.text = "version: v9\n";
    supplied.version = 2;
    const auto bad = source.read();
    ASSERT_FALSE(bad.config);
    EXPECT_EQ(bad.findings.front().file, "aliquot-config/a2");
    EXPECT_TRUE(source.read_last_good());
    // Nothing is configured any more: the old text must not come back.
    supplied = {.version = 3};
    ASSERT_TRUE(source.read().config);
    EXPECT_FALSE(source.has_text());
    source.keep("");
    EXPECT_FALSE(source.read_last_good());
}

}  // namespace
}  // namespace aliquot::agent
