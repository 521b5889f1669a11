// SPDX-License-Identifier: Apache-2.0
#include "agent/telemetry_service.h"

#include <gmock/gmock.h>

#include <atomic>

#include "base/log.h"
#include "os/temporary_directory.h"
#include "telemetry/json.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class CountingMeters final : public gpu::Meters {
public:
    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds) override {
        ++reads;
        gpu::Reading reading;
        reading.metrics.set(gpu::Metric::kPowerMilliwatts, 42'000);
        return std::vector<Result<gpu::Reading>>(questions.size(), reading);
    }
    void release() override {}
    std::atomic<int> reads = 0;
};

class ALink : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([](std::string_view) {});
        gpu::Gpu gpu;
        gpu.uuid = {"GPU-0"};
        gpu.model = "NVIDIA A2";
        observations.publish({.inventory = {.driver_version = "580.65.06", .gpus = {gpu}}});
    }
    void TearDown() override { log::set_sink({}); }

    TelemetryService& link(TelemetryOptions options) {
        options.node = "node-a";
        link_.emplace(
            directory.root(), clock,
            TelemetryService::Sources{
                .meters = meters,
                .holders = [](std::chrono::milliseconds) { return std::vector<kubelet::Holder>(); },
                .observations = observations},
            std::move(options));
        return *link_;
    }
    /// The metrics, once there are some.
    http::Response metrics() {
        for (int i = 0; i < 1000; ++i) {
            auto answer = link_->metrics();
            if (answer.status == 200) return answer;
            std::this_thread::sleep_for(10ms);
        }
        return link_->metrics();
    }

    struct Directory {
        os::TemporaryDirectory temporary;
        os::Root root_{temporary.path()};
        os::Root& root() { return root_; }
    } directory;
    os::SystemClock clock;
    CountingMeters meters;
    Latest<Observation> observations;
    std::optional<TelemetryService> link_;
};

TEST_F(ALink, ToldNothingSaysSo) {
    EXPECT_EQ(link({}).metrics().status, 503);
    EXPECT_EQ(link_->state().status, 503);
}

TEST_F(ALink, TellsTheSameByMetricsAndState) {
    link({}).start();
    const http::Response text = metrics();
    EXPECT_EQ(text.status, 200);
    EXPECT_THAT(*text.shared_body, HasSubstr("gpu_power_watts{"));
    EXPECT_THAT(*text.shared_body, HasSubstr("DCGM_FI_DEV_POWER_USAGE{"));
    const auto state = telemetry::parse_state(*link_->state().shared_body);
    ASSERT_TRUE(state.ok()) << state.error().message;
    EXPECT_EQ(state->node, "node-a");
    EXPECT_EQ(state->devices.at(0).metrics.get(gpu::Metric::kPowerMilliwatts), 42'000);
}

TEST_F(ALink, AskingCausesNoLook) {
    link({.interval = 1h}).start();
    (void)metrics();
    const int before = meters.reads;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(metrics().status, 200);
    EXPECT_EQ(meters.reads, before);
}

TEST_F(ALink, AnswersOnlyTheCountersThatAreListed) {
    ASSERT_TRUE(directory.root().write_atomically("/etc/counters.csv",
                                                  "DCGM_FI_DEV_GPU_TEMP, gauge, Temperature\n"));
    link({.counters = "/etc/counters.csv"}).start();
    EXPECT_THAT(*metrics().shared_body, Not(HasSubstr("DCGM_FI_DEV_POWER_USAGE")));
}

TEST(OfferedDevices, SayHowEachIsShared) {
    sharing::Offer offer;
    gpu::Gpu gpu;
    gpu.uuid = {"GPU-0"};
    offer.resources = {{.name = "nvidia.com/gpu", .shared = true}};
    offer.resources[0].gpus = {
        {.gpu = gpu, .replicas = 4, .limits = {.memory_bytes = 100, .compute_percent = 25}}};
    const auto offered = offered_devices(offer);
    ASSERT_TRUE(offered.contains("GPU-0"));
    const auto& device = offered.at("GPU-0");
    EXPECT_EQ(grant::metric_text(device.mechanism), "time-slicing");
    EXPECT_EQ(device.replicas, 4U);
    EXPECT_EQ(device.limits.memory_bytes, 100U);
    EXPECT_EQ(device.limits.compute_percent, 25U);
    offer.resources[0].gpus[0].shared_by = grant::Mechanism::kMps;
    EXPECT_EQ(grant::metric_text(offered_devices(offer).at("GPU-0").mechanism), "mps");
}

}  // namespace
}  // namespace aliquot::agent
