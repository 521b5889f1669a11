// SPDX-License-Identifier: Apache-2.0
#include "gate/judge.h"

#include <gtest/gtest.h>

namespace aliquot::gate {
namespace {

GpuState clean() {
    return {.uuid = "GPU-1",
            .memory_used_bytes = 60ULL << 20U,
            .ecc_uncorrected = 0,
            .recovery_action = 0,
            .power_limit_milliwatts = 70'000};
}
std::vector<std::string> messages(const GpuState& now, const GpuState& before = clean()) {
    const NodeState base{before};
    std::vector<std::string> all;
    for (const auto& one : judge({now}, &base)) all.push_back(one.message);
    return all;
}
using Messages = std::vector<std::string>;

TEST(CleanGpu, HasNothingLeftOver) { EXPECT_EQ(messages(clean()), Messages{}); }

TEST(CleanGpu, HasNoProcessOfTheJob) {
    GpuState now = clean();
    now.processes = {10, 4711};
    GpuState before = clean();
    before.processes = {10};
    EXPECT_EQ(messages(now, before), Messages{"GPU 0: process 4711 is still there"});
}

// R94.
TEST(CleanGpu, HasItsMemoryAtTheBaseLine) {
    GpuState now = clean();
    now.memory_used_bytes = 200ULL << 20U;
    EXPECT_EQ(messages(now), Messages{});
    now.memory_used_bytes = 900ULL << 20U;
    EXPECT_EQ(messages(now),
              Messages{"GPU 0: 900 MiB of memory are used, at most 200 MiB expected"});
    GpuState before = clean();
    before.memory_used_bytes = 1ULL << 30U;
    EXPECT_EQ(messages(now, before), Messages{});
}

TEST(CleanGpu, HasNoFault) {
    GpuState now = clean();
    now.problem = "GPU is lost";
    EXPECT_EQ(messages(now), Messages{"GPU 0: GPU is lost"});
    now = clean();
    now.recovery_action = 1;
    now.ecc_uncorrected = 2;
    EXPECT_EQ(messages(now), (Messages{"GPU 0: the driver asks for a reset (recovery action 1)",
                                       "GPU 0: 2 uncorrectable memory errors (ECC)"}));
}

TEST(CleanGpu, HasItsClocksAndItsMigDevicesBack) {
    GpuState now = clean();
    now.clocks_set = true;
    now.power_limit_milliwatts = 50'000;
    now.mig_enabled = true;
    now.mig_devices = {"1g.5gb@0"};
    EXPECT_EQ(messages(now),
              (Messages{"GPU 0: application clocks are set; reset: nvidia-smi -i 0 -rac",
                        "GPU 0: the power limit was changed from 70 W to 50 W",
                        "GPU 0: MIG is 1g.5gb@0, it was off"}));
    const NodeState base{clean()};
    EXPECT_EQ(judge({}, &base).at(0).kind, LeftoverKind::kGone);
}

}  // namespace
}  // namespace aliquot::gate
