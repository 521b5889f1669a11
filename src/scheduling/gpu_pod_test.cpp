// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gpu_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::scheduling {
namespace {

TEST(ReadGpuPod, TellsAllThatPlacementLooksAt) {
    const auto pod = read_gpu_pod(R"({"metadata":{"uid":"u1","namespace":"team","name":"train",
        "creationTimestamp":"2026-01-01T00:00:00Z","annotations":{"aliquot.dev/plan":"{}"},
        "ownerReferences":[{"kind":"Job","name":"j","uid":"o1","controller":true}]},
      "spec":{"priority":7,"schedulingGates":[{"name":"aliquot.dev/placement"}],
        "nodeSelector":{"zone":"a"},"topologySpreadConstraints":[{"maxSkew":1}],
        "tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}],
        "initContainers":[{"name":"warm","resources":{"limits":{"nvidia.com/gpu":1}}}],
        "containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"2","cpu":"1500m","memory":"1Gi"}}},
                      {"name":"log","resources":{"requests":{"cpu":"1m","memory":"1"}}}]},
      "status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
        "message":"0/3 nodes","lastTransitionTime":"2026-01-01T00:01:00Z"}]}})");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->full_name(), "team/train");
    EXPECT_TRUE(pod->waits());
    EXPECT_EQ(pod->owner, "o1");
    EXPECT_TRUE(pod->spreads);
    EXPECT_EQ(pod->priority, 7);
    EXPECT_EQ(pod->cpu_milli, 1501);
    EXPECT_EQ(pod->memory_mib, 1025);
    EXPECT_EQ(pod->plan, "{}");
    EXPECT_EQ(pod->unschedulable, "0/3 nodes");
    EXPECT_EQ(pod->unschedulable_since, "2026-01-01T00:01:00Z");
    EXPECT_THAT(pod->devices, testing::ElementsAre(DeviceRequest{"main", "nvidia.com/gpu", 2}));
}

TEST(ReadGpuPod, AnInitContainerThatAsksForMoreStandsForAll) {
    const auto pod = read_gpu_pod(R"({"metadata":{"uid":"u1"},"spec":{
        "initContainers":[{"name":"warm","resources":{"limits":{"nvidia.com/gpu":4}}}],
        "containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":1}}},
                      {"name":"b","resources":{"limits":{"nvidia.com/gpu":1}}}]}})");
    ASSERT_TRUE(pod);
    EXPECT_THAT(pod->devices, testing::ElementsAre(DeviceRequest{"warm", "nvidia.com/gpu", 4}));
}

TEST(ReadGpuPod, DoesNotWaitForUsWhileAnotherGateStands) {
    const auto pod = read_gpu_pod(R"({"metadata":{"uid":"u1"},"spec":{
        "schedulingGates":[{"name":"aliquot.dev/placement"},{"name":"kueue.x-k8s.io/admission"}]}})");
    ASSERT_TRUE(pod);
    EXPECT_TRUE(pod->is_gated);
    EXPECT_FALSE(pod->waits());
}

TEST(ReadGpuPod, RefusesWhatIsNoPod) {
    for (const char* const text : {"", "[", "[]", "{}", "{\"metadata\":7}"})
        EXPECT_FALSE(read_gpu_pod(text)) << text;
}

TEST(Queue, IsByPriorityThenAgeThenName) {
    GpuPod a{.name = "a", .created = "2026-01-01T00:00:02Z"};
    GpuPod b{.name = "b", .created = "2026-01-01T00:00:01Z"};
    EXPECT_TRUE(comes_before(b, a));
    a.priority = 1;
    EXPECT_TRUE(comes_before(a, b));
    b.priority = 1;
    b.created = a.created;
    EXPECT_TRUE(comes_before(a, b));
    EXPECT_FALSE(comes_before(b, a));
}

TEST(Shape, IsEqualForPodsThatGetTheSameAnswer) {
    const auto shape = [](const std::string& spec, const std::string& name = "a") {
        const auto pod = read_gpu_pod(R"({"metadata":{"uid":")" + name + R"(","name":")" + name +
                                      R"("},"spec":{)" + spec + "}}");
        return pod ? shape_of(*pod, false) : std::string();
    };
    const std::string gpu =
        R"("containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}])";
    const std::string two =
        R"("containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"2"}}}])";
    EXPECT_EQ(shape(gpu, "a"), shape(gpu, "b"));
    EXPECT_NE(shape(gpu), shape(two));
    EXPECT_NE(shape(gpu), shape(R"("nodeSelector":{"pool":"a"},)" + gpu));
    EXPECT_NE(shape(gpu), shape(R"("tolerations":[{"operator":"Exists"}],)" + gpu));
    EXPECT_NE(shape(gpu), shape(R"("priority":7,)" + gpu));
}

}  // namespace
}  // namespace aliquot::scheduling
