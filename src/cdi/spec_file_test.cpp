// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cdi/spec.h"
#include "os/temporary_directory.h"

namespace aliquot::cdi {
namespace {

constexpr const char* kPath = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json";

Spec spec_with(const std::string& device) {
    return {.kind = "nvidia.com/gpu",
            .devices = {{.name = device, .edits = {.environment = {"A=b"}}}}};
}

class SpecFileTest : public testing::Test {
protected:
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    SpecFile file_{root_, kPath};
};

TEST_F(SpecFileTest, MakesTheDirectoryAndLeavesNothingElseInIt) {
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    EXPECT_EQ(*root_.read(kPath), *to_json(spec_with("GPU-a")));
    EXPECT_EQ(root_.status(kPath)->mode, 0644U);
    EXPECT_THAT(*root_.list("/var/run/cdi"), testing::SizeIs(1));
}

TEST_F(SpecFileTest, IsNotTouchedWhenNothingChanged) {
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    const auto before = root_.status(kPath)->identity;
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    EXPECT_EQ(root_.status(kPath)->identity, before);
    ASSERT_TRUE(file_.write(spec_with("GPU-b")));
    EXPECT_NE(root_.status(kPath)->identity, before);
}

TEST_F(SpecFileTest, ComesBackAfterSomebodyRemovedIt) {
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    ASSERT_TRUE(root_.remove(kPath));
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    EXPECT_TRUE(root_.exists(kPath));
}

TEST_F(SpecFileTest, KeepsTheOldContentWhenTheNewOneIsInvalid) {
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    const auto written = file_.write(spec_with("not a name"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(*root_.read(kPath), *to_json(spec_with("GPU-a")));
}

TEST_F(SpecFileTest, IsRemovedOnRequestAndOnceIsEnough) {
    ASSERT_TRUE(file_.write(spec_with("GPU-a")));
    EXPECT_TRUE(file_.remove());
    EXPECT_FALSE(root_.exists(kPath));
    EXPECT_TRUE(file_.remove());
}

}  // namespace
}  // namespace aliquot::cdi
