// SPDX-License-Identifier: Apache-2.0
#include "guard_region/config_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

constexpr const char* kFirst = "GPU-00000000-0000-0000-0000-000000000001";
constexpr const char* kSecond = "GPU-00000000-0000-0000-0000-000000000002";

class ConfigFileTest : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "config"; }
    [[nodiscard]] static Settings two_gpus() {
        return {.container = "ai/train/main",
                .fail_open = true,
                .log_level = 2,
                .devices = {{.uuid = kFirst, .memory_bytes = 100, .context_bytes = 7, .weight = 30},
                            {.uuid = kSecond, .cap_ppm = 250'000, .kernel_limit = true}}};
    }
    os::TemporaryDirectory directory_;
};

TEST_F(ConfigFileTest, SaysAgainWhatItWasMadeWith) {
    ASSERT_TRUE(ConfigFile::create(path(), two_gpus()));
    const auto config = ConfigFile::open(path());
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->settings(), two_gpus());
    EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms(0644));
}

TEST_F(ConfigFileTest, IsNotMadeTwiceNorForDevicesWithoutAName) {
    ASSERT_TRUE(ConfigFile::create(path(), two_gpus()));
    EXPECT_EQ(ConfigFile::create(path(), two_gpus()).error().code, ErrorCode::kConflict);
    EXPECT_EQ(
        ConfigFile::create(directory_.path() / "x", {.devices = {{.uuid = "0"}}}).error().code,
        ErrorCode::kInvalidInput);
    Settings many;
    many.devices.resize(abi::kRegionDevices + 1, {.uuid = kFirst});
    EXPECT_EQ(ConfigFile::create(directory_.path() / "y", many).error().code,
              ErrorCode::kInvalidInput);
}

TEST_F(ConfigFileTest, ChangesLimitsWhileOthersReadIt) {
    auto config = ConfigFile::create(path(), two_gpus());
    ASSERT_TRUE(config);
    const auto reader = ConfigFile::open(path());
    ASSERT_TRUE(config->set_limits({.uuid = kSecond, .memory_bytes = 55, .cap_ppm = 10'000}));
    EXPECT_EQ(reader->settings().devices[1].memory_bytes, 55U);
    EXPECT_FALSE(reader->settings().devices[1].kernel_limit);
    EXPECT_EQ(reader->settings().devices[0], two_gpus().devices[0]);
    EXPECT_EQ(config->set_limits({.uuid = "GPU-00000000-0000-0000-0000-000000000003"}).error().code,
              ErrorCode::kNotFound);
}

TEST_F(ConfigFileTest, TellsTheTruthOfOneOwnerOnly) {
    auto config = ConfigFile::create(path(), two_gpus());
    ASSERT_TRUE(config);
    SlotTruth truth{.slot = 3, .owner = 77, .host_pid = 1234};
    truth.overhead_bytes[1] = 4096;
    config->set_truth(truth);
    EXPECT_EQ(config->told_overhead(3, 77, 1), 4096U);
    EXPECT_FALSE(config->told_overhead(3, 77, 0));
    EXPECT_FALSE(config->told_overhead(3, 78, 1));
    config->set_truth({.slot = 3, .owner = 77, .host_pid = 1234});  // nothing new: the old stays
    EXPECT_EQ(config->told_overhead(3, 77, 1), 4096U);
    config->set_truth({.slot = 3, .owner = 78});
    EXPECT_FALSE(config->told_overhead(3, 78, 1));
    config->set_truth({.slot = abi::kRegionSlots, .owner = 1});  // outside: nothing happens
}

TEST_F(ConfigFileTest, RefusesAnotherFile) {
    std::ofstream(path()) << "hello";
    EXPECT_EQ(ConfigFile::open(path()).error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(ConfigFile::open(directory_.path() / "none").error().code, ErrorCode::kNotFound);
    std::filesystem::resize_file(path(), 0);
    std::filesystem::resize_file(path(), sizeof(abi::Config));
    EXPECT_EQ(ConfigFile::open(path()).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace aliquot::guard_region
