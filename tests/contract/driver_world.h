// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "nvml/driver.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot::contract {

namespace fs = std::filesystem;

/// A simulated node and a driver that has it as its driver root.
class World {
public:
    explicit World(const std::string& gpus,
                   std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
        const auto request = sim::parse_gpu_request(gpus);
        EXPECT_TRUE(request);
        auto node = sim::Node::create(directory(), {.gpus = {*request}},
                                      fs::path(ALIQUOT_SIM_DIR) / "libnvidia-ml.so.1",
                                      fs::path(ALIQUOT_SIM_DIR) / "nvidia-smi");
        EXPECT_TRUE(node) << node.error().message;
        node_ = std::make_unique<sim::Node>(*std::move(node));
        // The simulated library keeps some memory for the life of the process; once it is unloaded
        // nothing points there and a leak checker takes it for lost.
        ::dlopen((directory() / "lib/libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_NODELETE);
        auto driver = nvml::Driver::open(root_, {.driver_root = directory().native(),
                                                 .deadline = deadline,
                                                 .reopen_after = std::chrono::milliseconds(0)});
        EXPECT_TRUE(driver) << driver.error().message;
        driver_ = *std::move(driver);
    }
    gpu::Sensors& sensors() { return *driver_; }
    nvml::Driver& driver() { return *driver_; }
    sim::Node& node() { return *node_; }
    [[nodiscard]] fs::path directory() const { return scratch_.path() / "node"; }

private:
    os::TemporaryDirectory scratch_;
    os::Root root_;
    std::unique_ptr<sim::Node> node_;
    std::unique_ptr<nvml::Driver> driver_;
};

}  // namespace aliquot::contract
