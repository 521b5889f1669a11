// SPDX-License-Identifier: Apache-2.0
#include "agent/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

using sharing::DeviceListStrategy;
using ::testing::ElementsAre;

TEST(Settings, FlagWinsOverFileAndFileOverDefault) {
    Options options;
    sharing::Config file;
    file.flags.nvidia_driver_root = "/run/nvidia/driver";
    file.flags.fail_on_init_error = false;
    options.flags.fail_on_init_error = true;
    const auto settings = settle(options, file);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->driver_root, "/run/nvidia/driver");
    EXPECT_EQ(settings->dev_root, "/run/nvidia/driver");  // follows the driver root
    EXPECT_TRUE(settings->fail_on_init_error);
    EXPECT_THAT(settings->grant.strategies, ElementsAre(DeviceListStrategy::kEnvvar));
}

TEST(Settings, KnowsWhenACdiFileIsNeeded) {
    Options options;
    options.flags.plugin.device_list_strategy = {DeviceListStrategy::kEnvvar};
    EXPECT_FALSE(settle(options, {})->uses_cdi());
    options.flags.plugin.device_list_strategy = {DeviceListStrategy::kEnvvar,
                                                 DeviceListStrategy::kCdiCri};
    EXPECT_TRUE(settle(options, {})->uses_cdi());
}

TEST(Settings, RefusesWhatCannotBeServed) {
    Options options;
    options.flags.device_discovery_strategy = sharing::DiscoveryStrategy::kTegra;
    EXPECT_EQ(settle(options, {}).error().code, ErrorCode::kUnsupported);
    options = {};
    options.flags.gds_enabled = true;
    EXPECT_TRUE(settle(options, {}));
    options.flags.plugin.device_list_strategy = {DeviceListStrategy::kCdiAnnotations};
    EXPECT_EQ(settle(options, {}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace aliquot::agent
