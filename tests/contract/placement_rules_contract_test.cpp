// SPDX-License-Identifier: Apache-2.0
//
// Pods are let go only to nodes where kube-scheduler can bind them: volumes, ports, preferences.
#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

using testing::HasSubstr;

class PlacementRules : public PlacementContract {
protected:
    void TearDown() override {
        if (connection_.api && !space_.empty())
            (void)api().remove(resources::persistent_volumes(), {"", space_ + "-pv"});
        PlacementContract::TearDown();
    }
    void add_volume(const std::string& node) {
        const Json term{{"matchExpressions", Json::array({{{"key", "kubernetes.io/hostname"},
                                                           {"operator", "In"},
                                                           {"values", {node}}}})}};
        make(resources::persistent_volumes(),
             Json{{"metadata", {{"name", space_ + "-pv"}}},
                  {"spec",
                   {{"capacity", {{"storage", "1Gi"}}},
                    {"accessModes", {"ReadWriteOnce"}},
                    {"persistentVolumeReclaimPolicy", "Retain"},
                    {"storageClassName", space_},
                    {"local", {{"path", "/data"}}},
                    {"nodeAffinity", {{"required", {{"nodeSelectorTerms", {term}}}}}}}}}
                 .dump());
    }
    void add_claim(const std::string& name, bool bound) {
        Json claim{{"metadata", {{"name", name}}},
                   {"spec",
                    {{"accessModes", {"ReadWriteOnce"}},
                     {"storageClassName", space_},
                     {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
        if (bound) claim["spec"]["volumeName"] = space_ + "-pv";
        make(resources::volume_claims(), claim.dump());
    }
    std::vector<std::string> targets_of(const std::string& name) {
        std::vector<std::string> nodes;
        const auto plan = plan_of(name);
        for (const auto& target : plan ? plan->targets : std::vector<scheduling::Target>{})
            nodes.push_back(target.node);
        return nodes;
    }
};

TEST_P(PlacementRules, APodGoesWhereItsVolumeIs) {
    for (const char* const name : {"a", "b", "c", "d", "e"}) add_node(name, 1, 4);
    const auto controller = start();
    Json wants = pod_of("p1", 1);
    wants["spec"]["volumes"] =
        Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}});
    create(wants);
    // Its claim does not exist yet: nothing to do but to wait.
    create("p2", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("p2"); })) << controller->said();
    EXPECT_FALSE(is_released("p1"));
    add_volume(nodes_.at(4));
    add_claim("data", true);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    EXPECT_THAT(targets_of("p1"), testing::ElementsAre(nodes_.at(4)));
}

TEST_P(PlacementRules, AHostPortIsLookedForWhereItIsFree) {
    for (const char* const name : {"a", "b", "c", "d"}) add_node(name, 1, 4);
    const auto controller = start();
    for (unsigned i = 0; i < 4; ++i) {
        const std::string name = "p" + std::to_string(i);
        Json wants = pod_of(name, 1);
        wants["spec"]["containers"][0]["ports"] =
            Json::array({{{"containerPort", 80}, {"hostPort", 8080}}});
        create(wants);
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << controller->said();
        ASSERT_FALSE(targets_of(name).empty());
        ASSERT_TRUE(api().bind(key(name), targets_of(name).front()));
    }
    std::set<std::string> used;
    for (unsigned i = 0; i < 4; ++i)
        used.insert(pod("p" + std::to_string(i))["spec"]["nodeName"].get<std::string>());
    EXPECT_EQ(used.size(), 4U);
}

TEST_P(PlacementRules, TheNodeThatAPodPrefersComesFirst) {
    for (const char* const name : {"a", "b", "c", "d", "e"}) add_node(name, 1, 4);
    const auto controller = start();
    Json wants = pod_of("p1", 1);
    wants["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({{{"weight", 1},
                      {"preference",
                       {{"matchExpressions", Json::array({{{"key", "kubernetes.io/hostname"},
                                                           {"operator", "In"},
                                                           {"values", {nodes_.at(3)}}}})}}}}});
    create(wants);
    ASSERT_TRUE(becomes_true([&] { return is_released("p1"); })) << controller->said();
    ASSERT_FALSE(targets_of("p1").empty());
    EXPECT_EQ(targets_of("p1").front(), nodes_.at(3));
}

INSTANTIATE_TEST_SUITE_P(Api, PlacementRules,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
