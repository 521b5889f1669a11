// SPDX-License-Identifier: Apache-2.0
#include "guard_region/metrics.h"

#include <gmock/gmock.h>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

Reading one_process() {
    Reading reading;
    reading.ledger.emplace();
    LedgerDevice& device = reading.ledger->devices[0];
    device.uuid = *parse_uuid(kGpu);
    device.peak_bytes = 5000;
    device.denied = 3;
    device.gpu_ns = 1'500'000'000;
    device.remarks = abi::kRemarkNoArbiter | abi::kRemarkOverLimit | 0x8000'0000;
    for (const bool alive : {true, false}) {
        SlotView& slot = reading.ledger->slots.emplace_back();
        slot.alive = alive;
        slot.devices[0] = {.tracked_bytes = 1000, .overhead_bytes = 200, .contexts = 1};
    }
    reading.devices = {{.uuid = kGpu,
                        .answered = true,
                        .held = {{.bytes = 1300, .slot = 0}, {.bytes = 50, .slot = std::nullopt}}}};
    return reading;
}

RegionStatus status() {
    return make_status({.id = "abc", .uuids = {kGpu}, .holder = "ai/train/main"},
                       {.devices = {{.uuid = kGpu, .memory_bytes = 4096, .cap_ppm = 250'000}}},
                       one_process());
}

TEST(Status, CountsTheLivingOnly) {
    const RegionStatus region = status();
    EXPECT_EQ(region.pod_namespace, "ai");
    EXPECT_EQ(region.pod, "train");
    EXPECT_EQ(region.container, "main");
    ASSERT_EQ(region.devices.size(), 1U);
    const DeviceStatus& device = region.devices[0];
    EXPECT_EQ(device.used_bytes, 1200U);
    EXPECT_EQ(device.tracked_bytes, 1000U);
    EXPECT_EQ(device.processes, 1U);
    EXPECT_EQ(device.unguarded, 1U);
    EXPECT_EQ(device.driver_bytes, 1350U);
    EXPECT_THAT(device.remarks, ElementsAre("no_arbiter", "over_limit"));
    EXPECT_FALSE(meaning_of("no_arbiter").empty());
    EXPECT_TRUE(meaning_of("x").empty());
}

TEST(Status, OfADamagedLedgerHasTheLimitsAndTheProblem) {
    Reading reading;
    reading.problem = "cut short";
    const RegionStatus region =
        make_status({}, {.devices = {{.uuid = kGpu, .memory_bytes = 1}}}, reading);
    EXPECT_EQ(region.problem, "cut short");
    EXPECT_EQ(region.devices.at(0).limits.memory_bytes, 1U);
    EXPECT_EQ(region.devices.at(0).used_bytes, 0U);
}

TEST(Metrics, HaveTheContainersLabels) {
    const std::string text = metrics_text(std::vector{status()});
    const std::string labels = R"({namespace="ai",pod="train",container="main",uuid=")" +
                               std::string(kGpu) + R"(",region="abc"})";
    EXPECT_THAT(text, HasSubstr("aliquot_guard_memory_limit_bytes" + labels + " 4096\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_guard_memory_used_bytes" + labels + " 1200\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_guard_alloc_denied_total" + labels + " 3\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_guard_gpu_seconds_total" + labels + " 1.5\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_guard_compute_cap_ratio" + labels + " 0.25\n"));
    EXPECT_THAT(text, HasSubstr("remark=\"no_arbiter\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("# TYPE aliquot_guard_alloc_denied_total counter\n"));
}

TEST(Metrics, NamesCannotBreakOutOfALabel) {
    RegionStatus region = status();
    region.pod = "a\"b\\c\nd";
    const std::string text = metrics_text(std::vector{region});
    EXPECT_THAT(text, HasSubstr(R"(pod="a\"b\\c\nd")"));
    EXPECT_THAT(text, Not(HasSubstr("c\nd")));
}

}  // namespace
}  // namespace aliquot::guard_region
