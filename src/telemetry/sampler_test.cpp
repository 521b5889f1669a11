// SPDX-License-Identifier: Apache-2.0
#include "telemetry/sampler.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>

namespace aliquot::telemetry {
namespace {

using namespace std::chrono_literals;

/// Answers at once, as it is told.
class ScriptedMeters final : public gpu::Meters {
public:
    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds) override {
        ++reads;
        std::vector<Result<gpu::Reading>> answers;
        for (const gpu::MeterQuestion& question : questions) {
            asked.push_back(question);
            if (question.gpu.text == lost) {
                answers.emplace_back(Error{ErrorCode::kUnavailable, lost + ": GPU is lost"});
                continue;
            }
            gpu::Reading reading;
            reading.metrics.set(gpu::Metric::kPowerMilliwatts, 50'000);
            reading.failures = {{.call = "nvmlDeviceGetFanSpeed", .code = 999}};
            answers.emplace_back(std::move(reading));
        }
        return answers;
    }
    void release() override { ++releases; }

    std::atomic<int> reads = 0;
    int releases = 0;
    std::string lost;
    std::vector<gpu::MeterQuestion> asked;
};

class ANode : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* const uuid : {"GPU-0", "GPU-1"}) {
            gpu::Gpu gpu;
            gpu.index = static_cast<unsigned>(observed.inventory.gpus.size());
            gpu.uuid = {uuid};
            observed.inventory.gpus.push_back(gpu);
        }
    }

    os::Root root{std::filesystem::path(::testing::TempDir()) / "no-such-host"};
    os::ManualClock clock;
    ScriptedMeters meters;
    std::vector<kubelet::Holder> holders;
    pods::Census census{
        root, clock, {}, [this](auto) -> Result<std::vector<kubelet::Holder>> { return holders; }};
    Observed observed;
    Sampler sampler{clock,
                    {.meters = meters, .census = census, .observed = [this] { return observed; }},
                    {.node = "node-a"}};
};

TEST_F(ANode, IsShownWithEveryGpuInOrder) {
    meters.lost = "GPU-0";
    gpu::Gpu nameless;
    nameless.index = 2;
    nameless.health = {.state = gpu::Health::State::kUnhealthy, .reason = "fell off the bus"};
    observed.inventory.gpus.insert(observed.inventory.gpus.begin() + 1, nameless);
    sampler.look();
    const auto seen = sampler.snapshots().get();
    ASSERT_TRUE(seen.value);
    ASSERT_EQ(seen.value->devices.size(), 3U);
    EXPECT_EQ(seen.value->node, "node-a");
    EXPECT_EQ(seen.value->devices[0].problem, "GPU-0: GPU is lost");
    EXPECT_EQ(seen.value->devices[1].problem, "fell off the bus");
    EXPECT_EQ(seen.value->devices[2].metrics.get(gpu::Metric::kPowerMilliwatts), 50'000);
    EXPECT_EQ(seen.value->sampling.looks, 1U);
    EXPECT_EQ(seen.value->sampling.failed_looks, 2U);
    EXPECT_EQ(seen.value->sampling.failed_calls.at({"nvmlDeviceGetFanSpeed", 999}), 1U);
}

TEST_F(ANode, CountsWhoHoldsWhat) {
    auto offered = std::make_shared<Offered>();
    (*offered)["GPU-0"] = {
        .resource = "nvidia.com/gpu", .mechanism = grant::Mechanism::kTimeSlicing, .replicas = 4};
    (*offered)["GPU-1"] = {
        .resource = "nvidia.com/gpu", .mechanism = grant::Mechanism::kTimeSlicing, .replicas = 4};
    observed.offered = offered;
    holders = {{.pod_namespace = "team",
                .pod = "a",
                .container = "main",
                .resource = "nvidia.com/gpu",
                .ids = {"GPU-0::1", "GPU-0::3", "GPU-1::0"}}};
    census.refresh();
    sampler.look();
    const auto seen = sampler.snapshots().get().value;
    const Layout& layout = seen->devices[0].layout;
    EXPECT_EQ(grant::metric_text(layout.mechanism), "time-slicing");
    EXPECT_EQ(layout.slots.at("nvidia.com/gpu"), 4U);
    EXPECT_EQ(layout.allocated.at("nvidia.com/gpu"), 2U);
    EXPECT_EQ(seen->devices[1].layout.allocated.at("nvidia.com/gpu"), 1U);
    ASSERT_EQ(seen->devices[0].parts.at(0).tenants.size(), 1U);
    EXPECT_EQ(seen->devices[0].parts[0].tenants[0].entitlement_ppm, kMillion / 2);
}

TEST_F(ANode, GivesTheDriverBackWhileAResetIsAwaited) {
    sampler.look();
    EXPECT_EQ(meters.releases, 0);
    observed.inventory.gpus[1].mig_pending = true;
    sampler.look();
    EXPECT_EQ(meters.releases, 1);
}

TEST_F(ANode, LooksAtItsOwnPace) {
    sampler.start();
    const auto first = sampler.snapshots().wait_newer(0, 10s);
    ASSERT_TRUE(first.value);
    for (std::uint64_t look = first.version; look < first.version + 3; ++look) {
        // The sampler may not sleep yet: time goes on until it has looked again.
        for (int i = 0; i < 1000 && sampler.snapshots().get().version == look; ++i) {
            clock.advance(100ms);
            (void)sampler.snapshots().wait_newer(look, 10ms);
        }
        ASSERT_GT(sampler.snapshots().get().version, look);
    }
    const int before = meters.reads;
    for (int i = 0; i < 10; ++i) (void)sampler.snapshots().get();
    EXPECT_EQ(meters.reads, before) << "who reads causes no look";
}

}  // namespace
}  // namespace aliquot::telemetry
