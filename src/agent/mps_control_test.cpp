// SPDX-License-Identifier: Apache-2.0
#include "agent/mps_control.h"

#include <gmock/gmock.h>

#include "agent/privileges.h"

namespace aliquot::agent {
namespace {

using testing::ElementsAre;

gpu::Gpu gpu_named(const std::string& uuid) { return {.uuid = {uuid}}; }

TEST(MpsControl, OnlyGpusThatMpsSharesNeedADaemon) {
    const sharing::Offer offer{
        .resources = {{.name = "nvidia.com/gpu",
                       .gpus = {{.gpu = gpu_named("GPU-a"),
                                 .replicas = 4,
                                 .shared_by = grant::Mechanism::kMps,
                                 .limits = {.memory_bytes = 1U << 30U, .compute_percent = 25}},
                                {.gpu = gpu_named("GPU-b")}}}}};
    EXPECT_THAT(
        mps_daemons(offer),
        ElementsAre(mps::DaemonSpec{{"GPU-a"}, {.memory_bytes = 1U << 30U, .thread_percent = 25}}));
}

TEST(MpsControl, ADaemonThatDoesNotServeMakesItsGpuUnhealthy) {
    const std::vector<mps::Status> statuses{
        {.gpu = {"GPU-a"}, .phase = mps::Phase::kFailed, .reason = "MPS control daemon ended"},
        {.gpu = {"GPU-b"}, .phase = mps::Phase::kServing}};
    auto failed = gpu_named("GPU-a");
    note_mps(failed, statuses);
    EXPECT_FALSE(failed.health.ok());
    EXPECT_EQ(failed.health.reason, "MPS control daemon ended");
    auto good = gpu_named("GPU-b");
    note_mps(good, statuses);
    EXPECT_TRUE(good.health.ok());
    auto other = gpu_named("GPU-c");
    note_mps(other, statuses);
    EXPECT_TRUE(other.health.ok());
}

TEST(MpsControl, AFaultOfTheGpuItselfKeepsItsReason) {
    auto lost = gpu_named("GPU-a");
    lost.health = {.state = gpu::Health::State::kUnhealthy, .reason = "Xid 79"};
    const std::vector<mps::Status> statuses{
        {.gpu = {"GPU-a"}, .phase = mps::Phase::kFailed, .reason = "MPS control daemon ended"}};
    note_mps(lost, statuses);
    EXPECT_EQ(lost.health.reason, "Xid 79");
}

TEST(Privileges, MpsNeedsFourCapabilities) { EXPECT_EQ(mps_capabilities().size(), 4U); }

}  // namespace
}  // namespace aliquot::agent
