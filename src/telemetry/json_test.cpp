// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json.h"

#include <gmock/gmock.h>

#include "telemetry/metric_names.h"
#include "telemetry/test_world.h"

namespace aliquot::telemetry {
namespace {

Snapshot some_snapshot() {
    TestWorld world;
    world.offered["GPU-0"] = {
        .resource = "nvidia.com/gpu", .mechanism = grant::Mechanism::kTimeSlicing, .replicas = 4};
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .memory_mib = 10, .percent = 30};
    world.processes[2] = {.memory_mib = 50, .percent = 30};
    world.second();
    Snapshot snapshot{.at = Moment(std::chrono::milliseconds(1'700'000'000'123)),
                      .sequence = 7,
                      .node = "gpu-node-1",
                      .driver_version = "580.65.06",
                      .cuda_version = 13000,
                      .price_per_gpu_hour = 1.25};
    snapshot.devices = {world.seconds(3)};
    snapshot.devices[0].layout = {.mechanism = grant::Mechanism::kTimeSlicing,
                                  .slots = {{"nvidia.com/gpu", 4}},
                                  .allocated = {{"nvidia.com/gpu", 1}},
                                  .replicas = 4};
    snapshot.devices[0].xids = {
        {.xid = 79, .count = 2, .last = Moment(std::chrono::milliseconds(5))}};
    snapshot.sampling = {.degraded = {pods::Degraded::kNoHostPid},
                         .looks = 4,
                         .failed_calls = {{{"nvmlDeviceGetPowerUsage", 999}, 3}}};
    return snapshot;
}

TEST(State, IsReadBackAsItWasWritten) {
    const std::string text = to_json(some_snapshot());
    const auto read = parse_state(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(to_json(*read), text);
}

TEST(State, EveryMetricHasANameOfItsOwn) {
    for (std::size_t i = 0; i < gpu::kMetricCount; ++i) {
        const auto metric = static_cast<gpu::Metric>(i);
        EXPECT_EQ(metric_named(name_of(metric)), metric);
    }
    EXPECT_EQ(metric_named("none"), std::nullopt);
}

TEST(State, AbsentAmountsAreLeftOut) {
    Snapshot snapshot;
    snapshot.devices.resize(1);
    snapshot.devices[0].parts.resize(1);
    snapshot.devices[0].parts[0].tenants.resize(1);
    const std::string text = to_json(snapshot);
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("busyNs")));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("memoryLimitBytes")));
    const auto read = parse_state(text);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->devices[0].parts[0].tenants[0].amounts, Amounts{});
}

TEST(State, ANameThatIsNoUtf8IsShownAllTheSame) {
    Snapshot snapshot;
    snapshot.devices.resize(1);
    snapshot.devices[0].parts.resize(1);
    snapshot.devices[0].parts[0].others = {{.pid = 1, .command = "\xff\xfe"}};
    EXPECT_TRUE(parse_state(to_json(snapshot)).ok());
}

struct Wrong {
    std::string text;
    std::string message;
};
class WrongState : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongState, IsRefusedInOneLine) {
    const auto read = parse_state(GetParam().text);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(read.error().message, ::testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, WrongState,
    ::testing::Values(
        Wrong{"", "not a JSON object"}, Wrong{"[]", "not a JSON object"},
        Wrong{"{}", "kind is not 'NodeState'"},
        Wrong{R"({"kind":"NodeState","atMs":-1})", "atMs is not a whole number"},
        Wrong{R"({"kind":"NodeState","atMs":18446744073709551615})", "year 10000"},
        Wrong{R"({"kind":"NodeState","gpus":{}})", "gpus is not a list"},
        Wrong{R"({"kind":"NodeState","gpus":[{"index":4294967296}]})", "index is not a number"},
        Wrong{R"({"kind":"NodeState","gpus":[{"figures":{"powerMilliwatts":"x"}}]})",
              "figures.powerMilliwatts is not a number"},
        Wrong{R"({"kind":"NodeState","gpus":[{"parts":[{"tenants":[{"ids":[1]}]}]}]})",
              "ids is not a list of texts"}));

}  // namespace
}  // namespace aliquot::telemetry
