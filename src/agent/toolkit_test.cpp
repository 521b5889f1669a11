// SPDX-License-Identifier: Apache-2.0
#include "agent/toolkit.h"

#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

class Toolkit : public testing::Test {
protected:
    std::string told(bool by_claims = false) {
        const auto condition = toolkit_condition(root_, settings_, by_claims);
        if (!condition) return "nothing";
        EXPECT_EQ(condition->type, "GpuToolkitReady");
        EXPECT_FALSE(condition->message.empty());
        return (condition->good ? "True " : "False ") + condition->reason;
    }
    void have(const std::string& path) { ASSERT_TRUE(root_.write_atomically(path, "x")); }

    const os::TemporaryDirectory directory_;
    const os::Root root_{directory_.path()};
    Settings settings_;
};

TEST_F(Toolkit, IsNotNeededWhereContainersGetGpusByCdi) {
    EXPECT_EQ(told(true), "True CdiServed");
    settings_.grant.strategies = {sharing::DeviceListStrategy::kCdiCri};
    EXPECT_EQ(told(), "True CdiServed");
}

TEST_F(Toolkit, IsReadyWhenItIsInstalled) {
    EXPECT_EQ(told(), "nothing") << "no host";
    have("/etc/os-release");
    EXPECT_EQ(told(), "False ToolkitMissing");
    have("/usr/local/nvidia/toolkit/nvidia-container-runtime");
    EXPECT_EQ(told(), "True ToolkitInstalled");
    have("/usr/bin/nvidia-container-runtime");
    EXPECT_EQ(told(), "True ToolkitInstalled");
}

// After a restart of the node gpu-operator's files of before are there, and its validation is not.
// R86.
TEST_F(Toolkit, OfGpuOperatorIsReadyWhenItIsValidated) {
    have("/etc/os-release");
    have("/usr/local/nvidia/toolkit/nvidia-container-runtime");
    have("/run/nvidia/validations/driver-ready");
    EXPECT_EQ(told(), "False ToolkitNotValidated");
    have("/run/nvidia/validations/toolkit-ready");
    EXPECT_EQ(told(), "True ToolkitValidated");
}

TEST_F(Toolkit, IsSeenThroughTheMountOfTheHost) {
    settings_.container_driver_root = "/driver-root";
    have("/driver-root/etc/os-release");
    EXPECT_EQ(told(), "False ToolkitMissing");
    have("/driver-root/etc/nvidia-container-runtime/config.toml");
    EXPECT_EQ(told(), "True ToolkitInstalled");
    settings_.driver_root = "/run/nvidia/driver";
    EXPECT_EQ(told(), "nothing") << "only the driver's own tree is seen";
}

}  // namespace
}  // namespace aliquot::agent
