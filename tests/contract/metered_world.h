// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/meters.h"
#include "nvml/meters.h"
#include "tests/contract/driver_world.h"

namespace aliquot::contract {

/// A simulated node with meters on it (and a driver, as in the agent).
class MeteredWorld {
public:
    explicit MeteredWorld(const std::string& gpus,
                          std::chrono::milliseconds deadline = std::chrono::seconds(30))
        : world_(gpus), deadline_(deadline) {
        auto meters = nvml::Meters::open(root_, {.driver_root = world_.directory().native(),
                                                 .reopen_after = std::chrono::milliseconds(0)});
        EXPECT_TRUE(meters) << meters.error().message;
        meters_ = *std::move(meters);
        for (const auto& gpu : node().gpus()) uuids_.push_back({gpu.uuid});
    }

    [[nodiscard]] const gpu::Uuid& uuid(unsigned index) const { return uuids_.at(index); }

    /// Looks at one GPU; what it has shown before is not asked for again.
    Result<gpu::Reading> look(unsigned index, const gpu::Since& since = {}) {
        const gpu::MeterQuestion question{uuid(index), since};
        auto answers = meters_->read({&question, 1}, deadline_);
        EXPECT_EQ(answers.size(), 1U);
        return std::move(answers.front());
    }
    /// Looks at all of them.
    std::vector<Result<gpu::Reading>> look() {
        std::vector<gpu::MeterQuestion> questions;
        for (const auto& uuid : uuids_) questions.push_back({uuid, {}});
        return meters_->read(questions, deadline_);
    }

    /// From now on a look waits so long for a GPU.
    void set_deadline(std::chrono::milliseconds deadline) { deadline_ = deadline; }

    /// Simulated load goes by the clock.
    static void pass(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

    sim::Node& node() { return world_.node(); }
    nvml::Meters& meters() { return *meters_; }
    nvml::Driver& driver() { return world_.driver(); }
    [[nodiscard]] std::filesystem::path directory() const { return world_.directory(); }

private:
    World world_;
    os::Root root_;
    std::chrono::milliseconds deadline_;
    std::unique_ptr<nvml::Meters> meters_;
    std::vector<gpu::Uuid> uuids_;
};

}  // namespace aliquot::contract
