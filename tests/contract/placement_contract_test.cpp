// SPDX-License-Identifier: Apache-2.0
//
// aliquot-controller --placement as a process: gated pods get nodes and a plan. Asked of a simulated API server,
// and of the one that ALIQUOT_TEST_KUBECONFIG names (it must be able to reach 127.0.0.1).
#include <gmock/gmock.h>

#include <csignal>

#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

using testing::HasSubstr;

TEST_P(PlacementContract, AGatedPodGetsNodesAPlanAndItsGateIsTakenAway) {
    add_node("a", 1, 4);
    add_node("b", 1, 4);
    const auto controller = start();
    create("p1", 2);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    const auto plan = plan_of("p1");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->targets.size(), 2U);
    EXPECT_EQ(plan->asked.at(0).count, 2U);
    const Json terms = pod("p1").at(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"_json_pointer);
    EXPECT_EQ(terms.size(), 2U);
    EXPECT_EQ(terms[0]["matchFields"][0]["values"][0], plan->targets[0].node);
    EXPECT_TRUE(api().bind(key("p1"), plan->targets[1].node));
}

TEST_P(PlacementContract, NodeAffinityThatIsThereIsNarrowed) {
    add_node("a", 1, 4);
    const std::string b = add_node("b", 1, 4);
    add_node("c", 1, 4);
    const auto controller = start();
    Json made = pod_of("p1", 1);
    made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"] =
            Json::array({{{"matchExpressions", Json::array({{{"key", "kubernetes.io/hostname"},
                                                             {"operator", "NotIn"},
                                                             {"values", {b}}}})}}});
    create(made);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    const auto plan = plan_of("p1");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->targets.size(), 2U);
    for (const auto& target : plan->targets) EXPECT_NE(target.node, b);
}

TEST_P(PlacementContract, WaitsUntilOneGpuHasRoomAndThenGoesOn) {
    const std::string a = add_node("a", 2, 4);
    const auto controller = start();
    for (const char* const name : {"p1", "p2"}) {
        create(name, 3);
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << controller->said();
        ASSERT_TRUE(api().bind(key(name), a));
    }
    // Two units are free on the node, one on each GPU: no GPU takes this pod, though the sum would do.
    create("p3", 2);
    create("p4", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("p4"); })) << controller->said();
    EXPECT_FALSE(is_released("p3"));
    ASSERT_TRUE(api().remove(resources::pods(), key("p1"), {.grace_seconds = 0}));
    EXPECT_TRUE(becomes_true([&] { return is_released("p3"); })) << controller->said();
}

TEST_P(PlacementContract, BooksFollowWhatAgentsGranted) {
    const std::string a = add_node("a", 2, 4);
    const auto controller = start({"--log-level", "debug"});
    create("p1", 3);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    const std::string planned = plan_of("p1")->targets.at(0).units.at(resource_).begin()->first;
    const std::string other = planned == "GPU-a-0" ? "GPU-a-1" : "GPU-a-0";
    ASSERT_TRUE(api().bind(key("p1"), a));
    const std::string uid = pod("p1")["metadata"]["uid"];
    grant(a, {{uid, {{resource_, {{other, 3}}}}}});
    ASSERT_TRUE(controller->says("holders=1")) << controller->said();
    create("p2", 4);  // fits the planned GPU only
    ASSERT_TRUE(becomes_true([&] { return is_released("p2"); })) << controller->said();
    EXPECT_EQ(plan_of("p2")->targets.at(0).units.at(resource_).begin()->first, planned);
}

TEST_P(PlacementContract, WhatNobodyOfUsServesOrCouldEverTakeGoesToKubeScheduler) {
    add_node("a", 1, 4);
    const auto controller = start();
    create("much", 5);
    Json foreign = pod_of("foreign", 1);
    foreign["spec"]["containers"][0]["resources"]["limits"] = {{"other.example/gpu", "1"}};
    create(foreign);
    for (const char* const name : {"much", "foreign"}) {
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << name << "\n"
                                                                     << controller->said();
        EXPECT_FALSE(plan_of(name)) << name;
        EXPECT_FALSE(pod(name)["spec"].contains("affinity")) << name;
    }
}

TEST_P(PlacementContract, TheOldestAndMostImportantGoFirst) {
    add_node("a", 1, 1);
    create("first", 1);
    std::this_thread::sleep_for(1100ms);  // creationTimestamp counts seconds
    create("second", 1);
    const auto controller = start();
    ASSERT_TRUE(becomes_true([&] { return is_released("first"); })) << controller->said();
    EXPECT_FALSE(is_released("second"));
}

TEST_P(PlacementContract, ANodeIsKeptForThePodThatHasWaitedLong) {
    const std::string a = add_node("a", 2, 1, false);
    const auto controller = start({"--placement-keep-after", "1s"});
    for (const char* const name : {"p1", "p2"}) {
        create(name, 1);
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << controller->said();
        ASSERT_TRUE(api().bind(key(name), a));
    }
    create("big", 2);
    ASSERT_TRUE(controller->says("placement.kept")) << controller->said();
    create("small", 1);
    ASSERT_TRUE(api().remove(resources::pods(), key("p1"), {.grace_seconds = 0}));
    ASSERT_TRUE(api().remove(resources::pods(), key("p2"), {.grace_seconds = 0}));
    EXPECT_TRUE(becomes_true([&] { return is_released("big"); })) << controller->said();
    EXPECT_FALSE(is_released("small"));
    ASSERT_TRUE(api().remove(resources::pods(), key("big"), {.grace_seconds = 0}));
    EXPECT_TRUE(becomes_true([&] { return is_released("small"); })) << controller->said();
}

TEST_P(PlacementContract, AfterALongWaitAPodIsLetGoForAnAutoscaler) {
    const std::string a = add_node("a", 1, 1);
    const auto controller = start({"--placement-release-after", "2s"});
    create("p1", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    ASSERT_TRUE(api().bind(key("p1"), a));
    create("p2", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("p2"); })) << controller->said();
    EXPECT_FALSE(plan_of("p2"));
    EXPECT_FALSE(pod("p2")["spec"].contains("affinity"));
    EXPECT_TRUE(controller->says("how=waited_long")) << controller->said();
}

TEST_P(PlacementContract, PodsThatSpreadGetNodesOfSeveralZones) {
    for (const char* const name : {"a", "b", "c", "d"}) {
        const std::string node = add_node(name, 1, 4);
        const std::string zone = *name == 'd' ? "two" : "one";
        const Json patch{{"metadata", {{"labels", {{"topology.kubernetes.io/zone", zone}}}}}};
        ASSERT_TRUE(api().patch(resources::nodes(), {"", node}, patch.dump()));
    }
    const auto controller = start({"--placement-targets", "2"});
    Json spreads = pod_of("p1", 1);
    spreads["spec"]["topologySpreadConstraints"] =
        Json::array({{{"maxSkew", 1},
                      {"topologyKey", "topology.kubernetes.io/zone"},
                      {"whenUnsatisfiable", "DoNotSchedule"},
                      {"labelSelector", {{"matchLabels", {{"app", "a"}}}}}}});
    create(spreads);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    const auto plan = plan_of("p1");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->targets.size(), 4U);
    const auto in_two = [&](const auto& target) { return target.node == nodes_.back(); };
    const auto end = plan->targets.begin() + 2;
    EXPECT_TRUE(std::find_if(plan->targets.begin(), end, in_two) != end)
        << "one of each zone first";
}

TEST_P(PlacementContract, TheNextLeaderKeepsWhatTheOneBeforePlanned) {
    const std::string a = add_node("a", 1, 1);
    const auto first = start();
    create("p1", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << first->said();
    const auto second = start();
    first->process().signal(SIGKILL);
    ASSERT_TRUE(first->process().wait(10s));
    ASSERT_TRUE(second->says("kube.leading")) << second->said();
    create("p2", 1);
    EXPECT_FALSE(becomes_true([&] { return is_released("p2"); }, 2s))
        << "the GPU is promised to p1";
    ASSERT_TRUE(api().bind(key("p1"), a));
    ASSERT_TRUE(api().remove(resources::pods(), key("p1"), {.grace_seconds = 0}));
    EXPECT_TRUE(becomes_true([&] { return is_released("p2"); })) << second->said();
}

TEST_P(PlacementContract, ThePodOfAControllerWhoseNodesAreTakenIsMadeAgain) {
    const std::string a = add_node("a", 1, 4);
    const auto controller = start({"--placement-unfit-patience", "1s"});
    Json owned = pod_of("p1", 1);
    owned["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "apps/v1"},
                      {"kind", "ReplicaSet"},
                      {"name", "r"},
                      {"uid", "11111111-2222-3333-4444-555555555555"},
                      {"controller", true}}});
    create(owned);
    create("alone", 1);
    for (const char* const name : {"p1", "alone"}) {
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << controller->said();
        const Json status{
            {"status",
             {{"conditions",
               Json::array({{{"type", "PodScheduled"},
                             {"status", "False"},
                             {"reason", "Unschedulable"},
                             {"message", "0/1 nodes are available: 1 Insufficient cpu."},
                             {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}};
        ASSERT_TRUE(api().patch(
            resources::pods(), key(name), status.dump(),
            {.kind = kube_client::PatchKind::kStrategic, .write = {.subresource = "status"}}));
    }
    EXPECT_TRUE(becomes_true([&] {
        const Json now = pod("p1");
        return now.empty() || now["metadata"].contains("deletionTimestamp");
    })) << controller->said();
    const auto told = [&] {
        const auto events = api().list(resources::events(), {.namespace_name = space_});
        return events &&
               std::any_of(events->items.begin(), events->items.end(), [](const auto& one) {
                   return one.json.find("PlannedNodesTaken") != std::string::npos;
               });
    };
    EXPECT_TRUE(becomes_true(told)) << controller->said();
    EXPECT_TRUE(pod("alone").contains("metadata"));
}

TEST_P(PlacementContract, TheWebhookGatesPodsThatAskForWhatWeServeAndNoOthers) {
    add_node("a", 1, 4);
    const auto controller = start();
    const unsigned port = controller->webhook_port();
    const Json webhook{
        {"name", "placement.aliquot.dev"},
        {"clientConfig", {{"url", "https://127.0.0.1:" + std::to_string(port) + "/gate/pods"}}},
        {"rules", Json::array({{{"operations", {"CREATE"}},
                                {"apiGroups", {""}},
                                {"apiVersions", {"v1"}},
                                {"resources", {"pods"}}}})},
        {"failurePolicy", "Ignore"},
        {"timeoutSeconds", 5},
        {"sideEffects", "None"},
        {"admissionReviewVersions", {"v1"}},
        {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", space_}}}}}};
    make(kWebhooks, Json{{"metadata", {{"name", space_}}}, {"webhooks", {webhook}}}.dump());
    const auto gates = [&](const Json& made) {
        const auto answer = api().create(resources::pods(), space_, made.dump(), {.dry_run = true});
        return answer ? Json::parse(answer->json)["spec"]
                            .value("schedulingGates", Json::array())
                            .size()
                      : 99U;
    };
    ASSERT_TRUE(becomes_true([&] { return gates(pod_of("p1", 1, false)) == 1; }))
        << controller->said();
    EXPECT_EQ(gates(pod_of("p1", 1)), 1U) << "no second one";
    Json plain = pod_of("p2", 1, false);
    plain["spec"]["containers"][0].erase("resources");
    EXPECT_EQ(gates(plain), 0U);
    Json other = pod_of("p3", 1, false);
    other["spec"]["schedulingGates"] = Json::array({{{"name", "other.example/gate"}}});
    EXPECT_EQ(gates(other), 2U);
    Json placed = pod_of("p4", 1, false);
    placed["spec"]["nodeName"] = nodes_.at(0);
    EXPECT_EQ(gates(placed), 0U);
    // In the end a pod that comes through it is placed.
    create(pod_of("p5", 1, false));
    EXPECT_TRUE(becomes_true([&] { return is_released("p5") && plan_of("p5"); }))
        << controller->said();
}

INSTANTIATE_TEST_SUITE_P(Api, PlacementContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
