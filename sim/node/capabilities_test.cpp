// SPDX-License-Identifier: Apache-2.0
#include "sim/node/capabilities.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/node/identity.h"
#include "sim/node/mig.h"

namespace aliquot::sim {
namespace {

TEST(ListedDevices, AreThoseWithFilesWhenTheListSaysSo) {
    namespace fs = std::filesystem;
    auto state = state_for({.gpus = {{.model = "a2"}, {.model = "a100-40"}, {.model = "a2"}}});
    ASSERT_TRUE(state);
    ASSERT_TRUE(cut_gpu(**state, 1, "3g.20gb,1g.5gb"));
    const fs::path place =
        fs::temp_directory_path() / ("aliquot-devices-" + std::to_string(::getpid()));
    fs::create_directories(place / "nvidia-caps");
    EXPECT_EQ(listed_devices(**state, "devices", place), "");
    EXPECT_EQ(listed_devices(**state, "0,GPU-1", place), "0,GPU-1");
    const auto second = mig_devices(**state, 1).at(1);
    const auto cap = [&](unsigned compute) {
        return "nvidia-caps/nvidia-cap" +
               std::to_string(capability_minor(1, second.gpu_instance, compute));
    };
    for (const std::string& name :
         {std::string("nvidia1"), std::string("nvidia2"), cap(kNoInstance)}) {
        std::ofstream(place / name).put('\n');
    }
    EXPECT_EQ(listed_devices(**state, "devices", place), "2")
        << "the parent without both capabilities";
    std::ofstream(place / cap(second.compute_instance)).put('\n');
    EXPECT_EQ(listed_devices(**state, "devices", place), "1:1,2");
    fs::remove_all(place);
}

}  // namespace
}  // namespace aliquot::sim
