// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/plan_workloads.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;
using Kind = WorkloadWay::Kind;
using testing::HasSubstr;

plan::MovedWorkload moved() {
    return {.name = "kokoro",
            .namespace_name = "speech",
            .given = {"nvidia.com/gpu", 1},
            .environment = {"DEVICE=cuda"}};
}

/// A Deployment whose second container has these limits.
Json deployment(const Json& limits) {
    Json json = Json::parse(R"({"spec":{"template":{"spec":{"containers":[
        {"name":"sidecar","resources":{"limits":{"nvidia.com/gpu":"4"}}},
        {"name":"kokoro","env":[{"name":"A","value":"1"},{"name":"DEVICE","value":"cuda"}],
         "resources":{}}]}}},"status":{"replicas":2}})");
    json["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"] = limits;
    return json;
}

/// The container after the patch.
Json patched(const Json& before, const WorkloadWay& way) {
    return before.patch(Json::parse(way.patch))["spec"]["template"]["spec"]["containers"][1];
}

TEST(PlanWorkloads, GoBackToTheCpuAndKeepTheRest) {
    Json json = deployment({{"nvidia.com/gpu", "1"}, {"memory", "2Gi"}});
    auto& container = json["spec"]["template"]["spec"]["containers"][1];
    container["resources"]["requests"] = {{"nvidia.com/gpu", 1}, {"cpu", "1"}};
    const auto way = way_of(moved(), json.dump());
    ASSERT_EQ(way.kind, Kind::kPatch) << way.why;
    EXPECT_EQ(way.why, "back to the CPU");
    const Json after = patched(json, way);
    EXPECT_EQ(after["resources"]["limits"], Json({{"memory", "2Gi"}}));
    EXPECT_EQ(after["resources"]["requests"], Json({{"cpu", "1"}}));
    EXPECT_EQ(after["env"].size(), 1U);
    EXPECT_EQ(after["env"][0]["name"], "A");
}

TEST(PlanWorkloads, AskedBeforeForAnotherResourceAskForItAgain) {
    auto workload = moved();
    workload.given = {"nvidia.com/gpu.shared", 1};
    workload.before = {"nvidia.com/gpu", 2};
    const Json json = deployment({{"nvidia.com/gpu.shared", "1"}});
    const auto way = way_of(workload, json.dump());
    ASSERT_EQ(way.kind, Kind::kPatch) << way.why;
    EXPECT_EQ(patched(json, way)["resources"]["limits"], Json({{"nvidia.com/gpu", "2"}}));
    const auto again = way_of(workload, deployment({{"nvidia.com/gpu", "2"}}).dump());
    EXPECT_EQ(again.kind, Kind::kNothing) << again.why;
}

TEST(PlanWorkloads, AskedBeforeForAnotherCountAskForItAgain) {
    auto workload = moved();
    workload.before = {"nvidia.com/gpu", 3};
    const Json json = deployment({{"nvidia.com/gpu", 1}});
    const auto way = way_of(workload, json.dump());
    ASSERT_EQ(way.kind, Kind::kPatch) << way.why;
    EXPECT_EQ(patched(json, way)["resources"]["limits"], Json({{"nvidia.com/gpu", "3"}}));
    EXPECT_EQ(way_of(workload, deployment({{"nvidia.com/gpu", "3"}}).dump()).kind, Kind::kNothing);
}

TEST(PlanWorkloads, ThatAPersonChangedAreRefusedWithWhatIsThere) {
    const auto more = way_of(moved(), deployment({{"nvidia.com/gpu", "2"}}).dump());
    EXPECT_EQ(more.kind, Kind::kRefused);
    EXPECT_THAT(more.why, HasSubstr("asks for 2 x nvidia.com/gpu"));
    EXPECT_THAT(more.why, HasSubstr("the plan gave it 1 x nvidia.com/gpu"));
    const auto slice = way_of(moved(), deployment({{"nvidia.com/mig-1g.10gb", "1"}}).dump());
    EXPECT_EQ(slice.kind, Kind::kRefused);
    EXPECT_THAT(slice.why, HasSubstr("1 x nvidia.com/mig-1g.10gb"));
    const Json both{{"nvidia.com/gpu", "1"}, {"nvidia.com/mig-1g.10gb", "1"}};
    EXPECT_EQ(way_of(moved(), deployment(both).dump()).kind, Kind::kRefused);
}

TEST(PlanWorkloads, DoNotLoseTheGpuOfARunningPodBeforeAnotherRuns) {
    Json json = deployment({{"nvidia.com/gpu", "1"}});
    json["spec"]["strategy"] = {{"type", "Recreate"}};
    EXPECT_EQ(way_of(moved(), json.dump()).kind, Kind::kRefused);
    json["spec"]["strategy"] = {{"type", "RollingUpdate"}, {"rollingUpdate", {{"maxSurge", 0}}}};
    EXPECT_EQ(way_of(moved(), json.dump()).kind, Kind::kRefused);
    json["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = "0%";
    EXPECT_EQ(way_of(moved(), json.dump()).kind, Kind::kRefused);
    json["status"]["replicas"] = 0;  // nothing runs
    EXPECT_EQ(way_of(moved(), json.dump()).kind, Kind::kPatch);
    json["status"]["replicas"] = 2;
    json["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = "25%";
    EXPECT_EQ(way_of(moved(), json.dump()).kind, Kind::kPatch);
    auto job = moved();
    job.job = true;
    EXPECT_EQ(way_of(job, "").kind, Kind::kLeft);
}

TEST(PlanWorkloads, ThatAreBackHaveNothingToDo) {
    EXPECT_EQ(way_of(moved(), deployment({{"memory", "2Gi"}}).dump()).kind, Kind::kNothing);
    EXPECT_EQ(way_of(moved(), deployment(nullptr).dump()).kind, Kind::kNothing);
    EXPECT_EQ(way_of(moved(), "").kind, Kind::kNothing);
    EXPECT_EQ(way_of(moved(), R"({"spec":{"template":{"spec":{"containers":[{}]}}}})").kind,
              Kind::kNothing);
    EXPECT_EQ(way_of(moved(), "no json").kind, Kind::kRefused);
}

}  // namespace
}  // namespace aliquot::cli
