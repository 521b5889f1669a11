// SPDX-License-Identifier: Apache-2.0
// Whichever call about a GPU never returns: that GPU is found to hang, the others go on, and it
// comes back when the call returns.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "nvml/meters.h"
#include "tests/contract/driver_world.h"
#include "tests/contract/hanging_nvml.h"

namespace aliquot::contract {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFunctions[] = {
#define ALIQUOT_NAME(name) #name,
    ALIQUOT_HANGING_FUNCTIONS(ALIQUOT_NAME)
#undef ALIQUOT_NAME
};

class HangWorld {
public:
    explicit HangWorld(const std::string& gpus) : world_(gpus) {
        void* const library = ::dlopen(HANGING_NVML, RTLD_NOW | RTLD_NODELETE);
        EXPECT_NE(library, nullptr) << ::dlerror();
        control_ = reinterpret_cast<GetHangControl>(::dlsym(library, "hang_control"))();
        // Not unloaded: calls that hang may outlast this.
        control_->library = ::dlopen((world_.directory() / "lib/libnvidia-ml.so.1").c_str(),
                                     RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const nvml::DriverOptions options{
            .driver_root = HANGING_NVML, .deadline = 500ms, .reopen_after = 0ms};
        driver_ = *nvml::Driver::open(root_, options);
        meters_ = *nvml::Meters::open(root_, options);
        for (const auto& gpu : world_.node().gpus()) uuids_.push_back({gpu.uuid});
    }
    ~HangWorld() { clear(); }

    void hang(const char* function, unsigned gpu) {
        control_->gpu = gpu;
        control_->function = function;
    }
    void clear() {
        control_->function = nullptr;
        while (control_->hanging != 0) std::this_thread::sleep_for(1ms);
    }
    [[nodiscard]] int hanging() const { return control_->hanging; }

    /// What an agent does all the time. The GPUs that are well, by probe and by enumeration.
    std::vector<bool> look() {
        (void)driver_->wait_faults(20ms);
        std::vector<gpu::MeterQuestion> questions;
        for (const auto& uuid : uuids_) questions.push_back({uuid, {}});
        (void)meters_->read(questions, 200ms);
        std::vector<bool> well(uuids_.size(), false);
        const auto inventory = driver_->enumerate();
        const auto probes = driver_->probe(uuids_);
        if (!inventory || !probes) return well;
        for (std::size_t i = 0; i < uuids_.size(); ++i) {
            const gpu::Gpu* const gpu = inventory->find(uuids_[i]);
            const auto probe = std::ranges::find(*probes, uuids_[i], &gpu::Probe::gpu);
            well[i] =
                gpu != nullptr && gpu->health.ok() && probe != probes->end() && probe->answers;
        }
        return well;
    }
    bool comes_to(const std::vector<bool>& wanted) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            if (look() == wanted) return true;
        }
        return false;
    }
    [[nodiscard]] std::size_t size() const { return uuids_.size(); }

private:
    World world_;
    os::Root root_;
    HangControl* control_ = nullptr;
    std::unique_ptr<nvml::Driver> driver_;
    std::unique_ptr<nvml::Meters> meters_;
    std::vector<gpu::Uuid> uuids_;
};

void expect_only_one_away(HangWorld& world, const char* function, unsigned gpu) {
    const std::vector<bool> all(world.size(), true);
    ASSERT_TRUE(world.comes_to(all)) << "before " << function;
    world.hang(function, gpu);
    std::vector<bool> others = all;
    others[gpu] = false;
    EXPECT_TRUE(world.comes_to(others)) << function;
    EXPECT_LE(world.hanging(), 4) << function << ": calls pile up";
    world.clear();
    EXPECT_TRUE(world.comes_to(all)) << function << ": it does not come back";
}

class Hang : public testing::TestWithParam<const char*> {};

TEST_P(Hang, TakesAwayOnlyItsGpu) {
    HangWorld world("h100-80:2");
    expect_only_one_away(world, GetParam(), 0);
}

INSTANTIATE_TEST_SUITE_P(Call, Hang, testing::ValuesIn(kFunctions),
                         [](const auto& call) { return std::string(call.param); });

/// Calls that are made when the driver is opened only.
class HangAtTheStart : public testing::TestWithParam<const char*> {};

TEST_P(HangAtTheStart, TakesAwayOnlyItsGpu) {
    HangWorld world("h100-80:2");
    world.hang(GetParam(), 1);
    EXPECT_TRUE(world.comes_to({true, false}));
    world.clear();
    EXPECT_TRUE(world.comes_to({true, true})) << "it does not come back";
}

INSTANTIATE_TEST_SUITE_P(Call, HangAtTheStart,
                         testing::Values("nvmlDeviceGetSupportedEventTypes",
                                         "nvmlDeviceRegisterEvents"),
                         [](const auto& call) { return std::string(call.param); });

TEST(HangOf, TheOnlyGpuIsFound) {
    HangWorld world("h100-80:1");
    for (const char* const function : {"nvmlDeviceGetTemperature", "nvmlEventSetWait_v2"}) {
        expect_only_one_away(world, function, 0);
    }
}

TEST(HangOf, AQuestionForTheWayBetweenTwoGpusIsFound) {
    HangWorld world("a2:2");  // without NVLink the bus is asked
    expect_only_one_away(world, "nvmlDeviceGetTopologyCommonAncestor", 0);
}

TEST(HangOf, OneOfEightTakesAwayOnlyThatOne) {
    HangWorld world("h100-80:8");
    for (const char* const function :
         {"nvmlDeviceGetUUID", "nvmlDeviceGetSamples", "nvmlEventSetWait_v2"}) {
        expect_only_one_away(world, function, 5);
    }
}

}  // namespace
}  // namespace aliquot::contract
