// SPDX-License-Identifier: Apache-2.0
//
// Strict placement under aliquot-controller --placement --placement-strict as a process; who binds pods is this test.
// Asked of the same API servers as placement_contract_test.cpp; a real one must be able to reach 127.0.0.1.
#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

using testing::HasSubstr;

class StrictContract : public PlacementContract {
protected:
    /// A controller that the API server asks about Bindings of this namespace.
    std::unique_ptr<ControllerProcess> start_strict() {
        auto controller = start({"--placement-strict", "--log-level", "debug"});
        const Json webhook{
            {"name", "binding.aliquot.dev"},
            {"clientConfig",
             {{"url",
               "https://127.0.0.1:" + std::to_string(controller->webhook_port()) + "/bind/pods"}}},
            {"rules", Json::array({{{"operations", {"CREATE"}},
                                    {"apiGroups", {""}},
                                    {"apiVersions", {"v1"}},
                                    {"resources", {"pods/binding"}}}})},
            {"failurePolicy", "Ignore"},
            {"timeoutSeconds", 1},
            {"sideEffects", "NoneOnDryRun"},
            {"admissionReviewVersions", {"v1"}},
            {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", space_}}}}}};
        make(kWebhooks, Json{{"metadata", {{"name", space_}}}, {"webhooks", {webhook}}}.dump());
        EXPECT_TRUE(becomes_true([&] {
            const auto found = api().get(kWebhooks, {"", space_});
            const Json::json_pointer bundle("/webhooks/0/clientConfig/caBundle");
            return found && !Json::parse(found->json).value(bundle, "").empty();
        })) << controller->said();
        // The controller shows its certificate within 1.2 s, a real server goes by a configuration soon after it is made.
        std::this_thread::sleep_for(GetParam().name == "simulated" ? 2s : 4s);
        return controller;
    }
    /// A pod that waits for its node, and that the controller knows.
    std::string add_pod(ControllerProcess& controller, const std::string& name, unsigned count) {
        create(pod_of(name, count, false));
        EXPECT_TRUE(controller.says("placement.awaits_binding pod=" + space_ + "/" + name))
            << controller.said();
        return pod(name)["metadata"]["uid"];
    }
    kube_client::Outcome<Done> bind(const std::string& name, const std::string& node) {
        return api().bind(key(name), node, {}, pod(name)["metadata"]["uid"].get<std::string>());
    }
    /// The one GPU that the pod's plan names; empty: there is none, or several.
    std::string gpu_of(const std::string& name) {
        const auto plan = plan_of(name);
        if (!plan || plan->targets.size() != 1) return {};
        const auto& units = plan->targets[0].units.at(resource_);
        return units.size() == 1 ? units.begin()->first : std::string();
    }
};

TEST_P(StrictContract, TheGpuComesInTheWriteThatGivesTheNode) {
    add_node("a", 2, 2);
    const std::string b = add_node("b", 2, 2);
    const auto controller = start_strict();
    Json told = pod_of("p", 2, false);
    told["metadata"]["annotations"] = {{"example.com/kept", "yes"}};
    create(told);
    ASSERT_TRUE(controller->says("placement.awaits_binding")) << controller->said();
    const auto done = bind("p", b);
    ASSERT_TRUE(done) << done.failure().message;
    // The first that is seen of it with a node has the plan: no write came between.
    const Json bound = pod("p");
    EXPECT_EQ(bound["spec"]["nodeName"], b);
    EXPECT_EQ(bound["metadata"]["annotations"]["example.com/kept"], "yes");
    const auto plan = plan_of("p");
    ASSERT_TRUE(plan) << bound << controller->said();
    ASSERT_EQ(plan->targets.size(), 1U);
    EXPECT_EQ(plan->targets[0].node, b);
    EXPECT_THAT(gpu_of("p"), testing::StartsWith("GPU-b-"));
}

TEST_P(StrictContract, OfSeveralPlannedNodesTheChosenOneStays) {
    add_node("a", 1, 4);
    add_node("b", 1, 4);
    const auto controller = start_strict();
    create("p", 3);
    ASSERT_TRUE(becomes_true([&] { return is_released("p"); })) << controller->said();
    const auto before = plan_of("p");
    ASSERT_EQ(before->targets.size(), 2U);
    ASSERT_TRUE(controller->says("placement.awaits_binding pod=" + space_ + "/p"));
    const auto done = bind("p", before->targets[1].node);
    ASSERT_TRUE(done) << done.failure().message;
    const auto after = plan_of("p");
    ASSERT_EQ(after->targets.size(), 1U) << controller->said();
    EXPECT_EQ(after->targets[0], before->targets[1]);
    EXPECT_GT(after->generation, before->generation);
    // What was kept on the other node is free at once.
    (void)add_pod(*controller, "q", 4);
    const auto other = bind("q", before->targets[0].node);
    ASSERT_TRUE(other) << other.failure().message;
    EXPECT_FALSE(gpu_of("q").empty()) << controller->said();
}

TEST_P(StrictContract, ANodeWithoutRoomOnOneGpuIsRefusedAndAnotherOneTaken) {
    const std::string a = add_node("a", 2, 2);
    const std::string b = add_node("b", 2, 2);
    const auto controller = start_strict();
    Json granted;
    for (const std::string name : {"0", "1"}) {
        const std::string uid = add_pod(*controller, "held" + name, 1);
        ASSERT_TRUE(bind("held" + name, a));
        granted[uid][resource_]["GPU-a-" + name] = 1;
    }
    grant(a, granted);
    ASSERT_TRUE(controller->says("holders=2")) << controller->said();
    (void)add_pod(*controller, "p", 2);
    const auto refused = bind("p", a);
    ASSERT_FALSE(refused) << pod("p");
    EXPECT_TRUE(refused.failure().is(kube_client::Reason::kConflict)) << refused.failure().message;
    EXPECT_THAT(
        refused.failure().message,
        HasSubstr(a + " has 2 " + resource_ + " free, but at most 1 of one GPU, and 2 are asked"));
    EXPECT_FALSE(pod("p")["spec"].contains("nodeName"));
    const auto elsewhere = bind("p", b);
    ASSERT_TRUE(elsewhere) << elsewhere.failure().message;
    EXPECT_THAT(gpu_of("p"), testing::StartsWith("GPU-b-"));
}

TEST_P(StrictContract, TheSameNodeIsNotRefusedForEver) {
    const std::string a = add_node("a", 1, 2);
    const auto controller = start_strict();
    (void)add_pod(*controller, "held", 2);
    ASSERT_TRUE(bind("held", a));
    (void)add_pod(*controller, "p", 1);
    unsigned refusals = 0;
    while (refusals < 10 && !bind("p", a)) ++refusals;
    EXPECT_EQ(refusals, 3U) << controller->said();
    EXPECT_EQ(pod("p")["spec"].value("nodeName", ""), a);
    EXPECT_FALSE(plan_of("p")) << "nothing is promised";
}

TEST_P(StrictContract, PodsThatAreBoundAtOnceNeverGetTheSameUnits) {
    const std::string a = add_node("a", 2, 4);
    const auto controller = start_strict();
    constexpr unsigned kPods = 12;
    for (unsigned i = 0; i < kPods; ++i) (void)add_pod(*controller, "p" + std::to_string(i), 1);
    {
        std::vector<std::jthread> binders;
        for (unsigned i = 0; i < kPods; ++i)
            binders.emplace_back([this, &a, i] { (void)bind("p" + std::to_string(i), a); });
    }
    std::map<std::string, unsigned> used;
    unsigned bound = 0;
    for (unsigned i = 0; i < kPods; ++i) {
        const std::string gpu = gpu_of("p" + std::to_string(i));
        bound += gpu.empty() ? 0 : 1;
        if (!gpu.empty()) ++used[gpu];
    }
    EXPECT_EQ(bound, 8U) << controller->said();
    for (const auto& [gpu, units] : used) EXPECT_EQ(units, 4U) << gpu;
}

TEST_P(StrictContract, OtherPodsAndAControllerThatIsAwayHoldNobodyUp) {
    const std::string a = add_node("a", 1, 2);
    const auto controller = start_strict();
    (void)add_pod(*controller, "asks", 1);
    make_pod("plain");
    ASSERT_TRUE(bind("plain", a));
    EXPECT_FALSE(
        pod("plain")["metadata"].value("annotations", Json::object()).contains("aliquot.dev/plan"));
    controller->process().signal(9);
    ASSERT_TRUE(controller->process().wait(30s));
    const auto done = bind("asks", a);
    ASSERT_TRUE(done) << done.failure().message;
    EXPECT_FALSE(plan_of("asks"));
}

INSTANTIATE_TEST_SUITE_P(Api, StrictContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
