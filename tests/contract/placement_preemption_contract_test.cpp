// SPDX-License-Identifier: Apache-2.0
//
// Pre-emption under aliquot-controller --placement --placement-preemption as a process. Asked of the same API servers
// as placement_contract_test.cpp.
#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

const kube_client::Resource kClasses{.group = "scheduling.k8s.io",
                                     .version = "v1",
                                     .plural = "priorityclasses",
                                     .kind = "PriorityClass",
                                     .namespaced = false};
const kube_client::Resource kBudgets{.group = "policy",
                                     .version = "v1",
                                     .plural = "poddisruptionbudgets",
                                     .kind = "PodDisruptionBudget"};

class PreemptionContract : public PlacementContract {
protected:
    void SetUp() override {
        PlacementContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        make(kClasses, Json{{"metadata", {{"name", space_}}}, {"value", 1000}}.dump());
    }
    void TearDown() override {
        if (connection_.api && !space_.empty()) (void)api().remove(kClasses, {"", space_});
        PlacementContract::TearDown();
    }
    Json high(const std::string& name, unsigned count) {
        Json made = pod_of(name, count);
        made["spec"]["priorityClassName"] = space_;
        return made;
    }
    /// A pod that runs on its node.
    void hold(const std::string& name, const std::string& node, const Json& labels = {}) {
        Json made = pod_of(name, 1, false);
        if (!labels.empty()) made["metadata"]["labels"] = labels;
        create(made);
        ASSERT_TRUE(api().bind(key(name), node));
        ASSERT_TRUE(api().patch(
            resources::pods(), key(name),
            R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
            {.kind = kube_client::PatchKind::kStrategic, .write = {.subresource = "status"}}));
    }
    bool is_leaving(const std::string& name) {
        const Json now = pod(name);
        return now.empty() || now["metadata"].contains("deletionTimestamp");
    }
    /// As a kubelet whose containers have ended.
    void finish(const std::string& name) {
        (void)api().remove(resources::pods(), key(name), {.grace_seconds = 0});
    }
};

TEST_P(PreemptionContract, TheFewestAndCheapestMakeRoomAndBudgetsHold) {
    const std::string a = add_node("a", 1, 1, false);
    const std::string b = add_node("b", 2, 1, false);
    hold("guarded", a, {{"app", "guarded"}});
    hold("low1", b);
    hold("low2", b);
    make(
        kBudgets,
        Json{{"metadata", {{"name", "b"}}},
             {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "guarded"}}}}}}}}
            .dump());
    const auto controller =
        start({"--placement-preemption", "--placement-preemption-least-run", "0s"});
    create("same", 1);  // of the priority of those that run
    create(high("big", 2));
    ASSERT_TRUE(becomes_true([&] { return is_leaving("low1") && is_leaving("low2"); }))
        << controller->said();
    EXPECT_FALSE(is_leaving("guarded"));
    finish("low1");
    finish("low2");
    ASSERT_TRUE(becomes_true([&] { return is_released("big"); })) << controller->said();
    EXPECT_EQ(plan_of("big")->targets.at(0).node, b);
    EXPECT_FALSE(is_released("same")) << "the node was kept, though it waits for longer";
    // Nobody but the one with the budget is left for another: it stays.
    create(high("next", 1));
    ASSERT_TRUE(controller->says("placement.not_evicted")) << controller->said();
    EXPECT_FALSE(is_leaving("guarded"));
    EXPECT_FALSE(is_released("next"));
    EXPECT_FALSE(is_leaving("big"));
}

TEST_P(PreemptionContract, NobodyIsEvictedWithoutTheFlagOrBeforeItHasRunForAWhile) {
    const std::string a = add_node("a", 1, 1, false);
    hold("low", a);
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{},
          {"--placement-preemption", "--placement-preemption-least-run", "1h"}}) {
        const auto controller = start(flags);
        const std::string name = flags.empty() ? "p1" : "p2";
        create(high(name, 1));
        // The event comes after the decision.
        const auto told = [&] {
            const auto events = api().list(resources::events(), {.namespace_name = space_});
            return events &&
                   std::any_of(events->items.begin(), events->items.end(), [&](const auto& one) {
                       return one.json.find("WaitsForGpu") != std::string::npos &&
                              one.json.find("\"" + name + "\"") != std::string::npos;
                   });
        };
        EXPECT_TRUE(becomes_true(told)) << controller->said();
        EXPECT_FALSE(is_leaving("low")) << controller->said();
        controller->process().signal(15);
        ASSERT_TRUE(controller->process().wait(30s));
    }
}

INSTANTIATE_TEST_SUITE_P(Api, PreemptionContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
