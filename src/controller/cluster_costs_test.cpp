// SPDX-License-Identifier: Apache-2.0
#include "controller/cluster_costs.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "cost/allocate.h"

namespace aliquot::controller {
namespace {

using cost::TimeMs;

constexpr TimeMs kStart = 1'795'737'600'000;  // 2026-11-27
constexpr TimeMs kSeconds = 1'000;
constexpr std::uint64_t kNs = 1'000'000'000;

telemetry::Tenant tenant(const std::string& pod, std::uint64_t ppm, std::uint64_t held_s,
                         std::uint64_t busy_s) {
    telemetry::Tenant one;
    one.owner = {.pod_uid = "uid-" + pod,
                 .pod_namespace = "lab",
                 .pod = pod,
                 .container = "main",
                 .container_id = ""};
    one.resource = "nvidia.com/gpu.shared";
    one.entitlement_ppm = ppm;
    one.held_ns = held_s * kNs;
    one.amounts.busy_ns = busy_s * kNs;
    one.amounts.energy_millijoules = busy_s * 1'000;
    one.amounts.memory_bytes = std::uint64_t{3} << 30U;
    return one;
}

telemetry::Snapshot snapshot(std::vector<telemetry::Tenant> tenants) {
    telemetry::Snapshot made;
    made.node = "n1";
    telemetry::Device device;
    device.gpu.uuid.text = "GPU-1";
    device.gpu.model = "NVIDIA L4";
    device.gpu.memory_bytes = std::uint64_t{24} << 30U;
    telemetry::Part part;
    part.tenants = std::move(tenants);
    device.parts.push_back(std::move(part));
    made.devices.push_back(std::move(device));
    return made;
}

class NoteNode : public testing::Test {
protected:
    void note(TimeMs at, const telemetry::Snapshot& seen, bool cordoned = false) {
        NodeFacts node = node_facts(
            R"({"kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready",)"
            R"("status":"True"}]}})");
        node.cordoned = cordoned;
        cost::PriceFile prices{.version = "test 1"};
        prices.rules.push_back({.rate = 3'600'000});
        note_node(
            recorder_, at, seen, node,
            [this](const std::string&, const std::string& pod) {
                PodFacts facts;
                facts.user = pod + "'s user";
                facts.ended = ended_ == pod;
                return facts;
            },
            prices, before_);
    }
    cost::Report report(cost::By by) {
        const cost::History all = recorder_.take();
        return cost::report_of(cost::allocate(all), all, by);
    }
    cost::Recorder recorder_;
    std::map<std::string, TenantCounters> before_;
    std::string ended_;
};

TEST_F(NoteNode, TenantsPayForTheirSharesAndTheRestIsFree) {
    note(kStart, snapshot({tenant("a", 500'000, 0, 0), tenant("b", 250'000, 0, 0)}));
    note(kStart + 20 * kSeconds,
         snapshot({tenant("a", 500'000, 20, 10), tenant("b", 250'000, 20, 0)}));
    const cost::Report made = report(cost::By::kPod);
    ASSERT_EQ(made.lines.size(), 3U);
    EXPECT_EQ(made.lines[0].key, "lab/a");
    EXPECT_EQ(made.lines[0].sums.total(), 10'000);
    EXPECT_EQ(made.lines[1].key, "lab/b");
    EXPECT_EQ(made.lines[1].sums.total(), 5'000);
    EXPECT_EQ(made.lines[2].key, "free");
    EXPECT_EQ(made.bill, 20'000);
    EXPECT_EQ(made.lines[0].sums.energy_millijoules, 10'000U);
}

TEST_F(NoteNode, WhoIsNotListedAnyMoreHoldsNothing) {
    note(kStart, snapshot({tenant("a", 1'000'000, 0, 0)}));
    note(kStart + 10 * kSeconds, snapshot({}));
    note(kStart + 20 * kSeconds, snapshot({}));
    const cost::Report made = report(cost::By::kUser);
    EXPECT_EQ(made.lines[0].key, "a's user");
    EXPECT_EQ(made.lines[0].sums.total(), 10'000);
    EXPECT_TRUE(before_.empty());
}

TEST_F(NoteNode, APodThatHasEndedHoldsNothing) {
    note(kStart, snapshot({tenant("a", 1'000'000, 0, 0)}));
    ended_ = "a";
    note(kStart + 10 * kSeconds, snapshot({tenant("a", 1'000'000, 10, 0)}));
    note(kStart + 20 * kSeconds, snapshot({tenant("a", 1'000'000, 20, 0)}));
    EXPECT_EQ(report(cost::By::kUser).lines[0].sums.total(), 10'000);
}

TEST_F(NoteNode, WhatWasUsedBeforeWeCameIsNotCounted) {
    note(kStart, snapshot({tenant("a", 1'000'000, 5'000, 4'000)}));
    note(kStart + 10 * kSeconds, snapshot({tenant("a", 1'000'000, 5'010, 4'003)}));
    EXPECT_EQ(report(cost::By::kUser).lines[0].sums.energy_millijoules, 3'000U);
}

TEST_F(NoteNode, SlotsOfOneContainerAreOneShare) {
    telemetry::Tenant more = tenant("a", 250'000, 0, 0);
    more.resource = "nvidia.com/gpu.other";
    note(kStart, snapshot({tenant("a", 250'000, 0, 0), more}));
    note(kStart + 10 * kSeconds, snapshot({tenant("a", 250'000, 10, 0), more}));
    EXPECT_EQ(report(cost::By::kPod).lines[0].sums.total(), 5'000);
}

TEST_F(NoteNode, BrokenAndCordonedGpusAreNotFree) {
    telemetry::Snapshot broken = snapshot({});
    broken.devices[0].gpu.health.state = gpu::Health::State::kUnhealthy;
    note(kStart, broken);
    note(kStart + 10 * kSeconds, snapshot({}), true);
    note(kStart + 30 * kSeconds, snapshot({}));
    const cost::Report made = report(cost::By::kUser);
    EXPECT_EQ(made.sums.of(cost::State::kBroken), 10'000);
    EXPECT_EQ(made.sums.of(cost::State::kDraining), 20'000);
}

TEST(ClusterBudgets, HoldByWhatAPodCannotSayOfItself) {
    log::set_sink([](std::string_view) {});
    using By = cost::Budget::By;
    cost::PriceFile prices;
    prices.budgets = {{.by = By::kUser, .name = "alice", .amount = 5, .hold = true},
                      {.by = By::kQueue, .name = "train", .amount = 6, .hold = true},
                      {.by = By::kNamespace, .name = "lab", .amount = 7, .hold = true}};
    const auto used = held_by_namespace(prices);
    log::set_sink({});
    ASSERT_EQ(used.budgets.size(), 3U);
    EXPECT_FALSE(used.budgets[0].hold);
    EXPECT_FALSE(used.budgets[1].hold);
    EXPECT_EQ(used.budgets[1].amount, 6) << "it is told of all the same";
    EXPECT_TRUE(used.budgets[2].hold);
}

TEST(PodFactsTest, AreReadOfLabelsAndOwners) {
    const PodFacts facts = pod_facts(R"({"kind":"Pod","metadata":{"name":"p","namespace":"lab",
        "labels":{"kueue.x-k8s.io/queue-name":"train","aliquot.dev/user":"ann",
        "workflows.argoproj.io/workflow":"w1"},
        "ownerReferences":[{"kind":"X","name":"other"},{"kind":"Job","name":"j1","controller":true}]},
        "spec":{"nodeName":"n1","containers":[{"name":"main",
        "resources":{"requests":{"cpu":"1500m","memory":"2Gi"}}}]},"status":{"phase":"Succeeded"}})");
    EXPECT_EQ(facts.queue, "train");
    EXPECT_EQ(facts.user, "ann");
    EXPECT_EQ(facts.job, "j1");
    EXPECT_EQ(facts.workflow, "w1");
    EXPECT_EQ(facts.node, "n1");
    EXPECT_TRUE(facts.ended);
    EXPECT_EQ(facts.containers.at("main").cpu_milli, 1'500U);
    EXPECT_EQ(facts.containers.at("main").memory_mib, 2'048U);
    for (const char* odd :
         {"", "[]", "{", R"({"metadata":{"labels":7,"ownerReferences":{"a":1}}})"}) {
        EXPECT_EQ(pod_facts(odd).queue, "") << odd;
    }
}

TEST(NodeFactsTest, SayTheTypeAndWhetherItIsSpot) {
    const auto spot = [](const std::string& label, const std::string& value) {
        return node_facts(R"({"metadata":{"name":"n","labels":{")" + label + R"(":")" + value +
                          R"("}}})")
            .machine.spot;
    };
    EXPECT_TRUE(spot("karpenter.sh/capacity-type", "spot"));
    EXPECT_TRUE(spot("eks.amazonaws.com/capacityType", "SPOT"));
    EXPECT_TRUE(spot("cloud.google.com/gke-spot", "true"));
    EXPECT_TRUE(spot("kubernetes.azure.com/scalesetpriority", "spot"));
    EXPECT_TRUE(spot("node.kubernetes.io/lifecycle", "spot"));
    EXPECT_FALSE(spot("karpenter.sh/capacity-type", "on-demand"));
    const NodeFacts facts = node_facts(
        R"({"metadata":{"name":"n","labels":{"node.kubernetes.io/instance-type":"g5.xlarge",)"
        R"("topology.kubernetes.io/region":"us-east-1"}},"spec":{"unschedulable":true},)"
        R"("status":{"capacity":{"cpu":"4","memory":"16Gi"}}})");
    EXPECT_EQ(facts.machine.type, "g5.xlarge");
    EXPECT_EQ(facts.machine.region, "us-east-1");
    EXPECT_EQ(facts.cpu_milli, 4'000U);
    EXPECT_EQ(facts.memory_mib, 16'384U);
    EXPECT_TRUE(facts.cordoned);
    EXPECT_FALSE(facts.ready);
}

}  // namespace
}  // namespace aliquot::controller
