// SPDX-License-Identifier: Apache-2.0
#include "os/host_name.h"

#include <gtest/gtest.h>

#include <fstream>

namespace aliquot::os {
namespace {

TEST(HostName, IsTheKernels) {
    std::ifstream file("/proc/sys/kernel/hostname");
    std::string name;
    ASSERT_TRUE(std::getline(file, name));
    EXPECT_EQ(host_name("unnamed"), name.empty() || name == "(none)" ? "unnamed" : name);
}

}  // namespace
}  // namespace aliquot::os
