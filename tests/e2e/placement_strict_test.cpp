// SPDX-License-Identifier: Apache-2.0
//
// Strict placement in a simulated cluster: API server, kube-scheduler's stand-in, light kubelets, and the built
// controller that is asked about every Binding; and the same before Kubernetes' own API server and kube-scheduler.
#include "scheduling/plan.h"
#include "tests/e2e/fleet_world.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
namespace resources = kube_client::resources;

const kube_client::Resource kWebhooks{.group = "admissionregistration.k8s.io",
                                      .version = "v1",
                                      .plural = "mutatingwebhookconfigurations",
                                      .kind = "MutatingWebhookConfiguration",
                                      .namespaced = false};

class StrictFleet : public FleetWorld, public testing::WithParamInterface<const char*> {
protected:
    StrictFleet() {
        real_ = std::string_view(GetParam()) == "real";
        sharing_ = "mps";
        configuration_ = "aliquot";
        more_words_ = {"--placement-strict", "--log-level", "debug"};
    }
    void SetUp() override {
        FleetWorld::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        // The one that leads: as a Service with its label does.
        const auto leads = [](contract::ControllerProcess& one) {
            return one.said().contains("kube.leading");
        };
        ASSERT_TRUE(soon([&] { return leads(*controllers_[0]) || leads(*controllers_[1]); }));
        leader_ = controllers_[leads(*controllers_[0]) ? 0 : 1].get();
        const Json rule{{"operations", {"CREATE"}},
                        {"apiGroups", {""}},
                        {"apiVersions", {"v1"}},
                        {"resources", {"pods/binding"}}};
        const Json webhook{{"name", "binding.aliquot.dev"},
                           {"clientConfig",
                            {{"url", "https://127.0.0.1:" +
                                         std::to_string(leader_->webhook_port()) + "/bind/pods"}}},
                           {"rules", Json::array({rule})},
                           {"failurePolicy", "Ignore"},
                           {"timeoutSeconds", 1},
                           {"sideEffects", "NoneOnDryRun"},
                           {"admissionReviewVersions", {"v1"}}};
        const Json object{{"apiVersion", "admissionregistration.k8s.io/v1"},
                          {"kind", "MutatingWebhookConfiguration"},
                          {"metadata", {{"name", "aliquot"}}},
                          {"webhooks", Json::array({webhook})}};
        ASSERT_TRUE(api().create(kWebhooks, "", object.dump()));
        ASSERT_TRUE(soon([&] {
            const auto found = api().get(kWebhooks, {"", "aliquot"});
            const Json::json_pointer bundle("/webhooks/0/clientConfig/caBundle");
            return found && !Json::parse(found->json).value(bundle, "").empty();
        })) << leader_->said();
        // The controller shows its certificate within 1.2 s; a real server goes by a configuration soon after it is made.
        std::this_thread::sleep_for(real_ ? 4s : 2s);
    }

    /// What the pod's plan says, and what its node's agent gave it.
    scheduling::DeviceUnits planned(const std::string& owner) {
        const auto object = api().get(resources::pods(), {kSpace, owners_.at(owner).pod});
        const auto plan = scheduling::parse_plan(
            kube_client::string_at(object->json, "/metadata/annotations/aliquot.dev~1plan")
                .value_or(""));
        return plan && plan->targets.size() == 1 ? plan->targets[0].units
                                                 : scheduling::DeviceUnits();
    }
    scheduling::DeviceUnits granted(const std::string& owner) {
        const std::string uid = pods().at(owners_.at(owner).pod).uid;
        scheduling::DeviceUnits units;
        kubelets_->visit([&](const sim::fleet::LightNode& node, bool) {
            const auto told = node.granted();
            if (told.contains(uid)) units = told.at(uid);
        });
        return units;
    }

    contract::ControllerProcess* leader_ = nullptr;
};

TEST_P(StrictFleet, EveryPodGetsTheGpuThatWasStampedOnIt) {
    std::vector<std::string> owners;
    for (unsigned i = 0; i < 12; ++i) {
        owners.push_back("owner" + std::to_string(i));
        // Gated and planned, or seen by us for the first time when it is bound.
        add_owner(owners.back(), {.resource = kShare, .count = 1 + i % 2, .gated = i % 3 == 0});
    }
    ASSERT_TRUE(settles(60s));
    unsigned stamped = 0;
    for (const std::string& owner : owners) {
        const auto units = planned(owner);
        if (units.empty()) continue;  // bound before its watch event reached the controller
        ++stamped;
        EXPECT_EQ(units.at(kShare).size(), 1U) << owner << ": units of one GPU";
    }
    EXPECT_GE(stamped, 4U) << leader_->said();  // those that were gated are known
    std::map<scheduling::DeviceUnits, int> by_units;
    for (const std::string& owner : owners) {
        EXPECT_EQ(granted(owner).size(), 1U) << owner;
        // Pods that ask for the same are alike and may change places.
        if (planned(owner).empty()) return;
        ++by_units[planned(owner)];
        --by_units[granted(owner)];
    }
    for (const auto& [units, count] : by_units)
        EXPECT_EQ(count, 0) << units.begin()->second.begin()->first;
}

TEST_P(StrictFleet, APodThatFitsOnNoSingleGpuOfANodeGoesElsewhere) {
    for (const char* const node : {"n1", "n2"}) cordon(node, true);
    for (const char* const owner : {"first", "second"})
        add_owner(owner, {.resource = kShare, .count = 3, .gated = true, .cpu = "8"});
    ASSERT_TRUE(settles(60s));
    ASSERT_EQ(node_of("first"), "n0");
    ASSERT_EQ(node_of("second"), "n0");
    // One unit is left of each GPU: kube-scheduler counts two.
    add_owner("third", {.resource = kShare, .count = 2, .gated = false});
    tend_owners();
    ASSERT_TRUE(leader_->says("placement.binding_denied")) << leader_->said();
    EXPECT_EQ(node_of("third"), "");
    for (const char* const node : {"n1", "n2"}) cordon(node, false);
    ASSERT_TRUE(soon([&] { return !node_of("third").empty(); })) << leader_->said();
    EXPECT_NE(node_of("third"), "n0");
    EXPECT_TRUE(settles(60s));
    EXPECT_EQ(granted("third").at(kShare).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Peers, StrictFleet, testing::Values("simulated", "real"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace aliquot
