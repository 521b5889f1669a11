// SPDX-License-Identifier: Apache-2.0
#include "pools/outputs.h"

#include <gtest/gtest.h>

#include "document/path.h"
#include "document/write.h"
#include "pools/read.h"

namespace aliquot::pools {
namespace {

using document::text_at;

Pool pool(const std::string& more) {
    const auto read = read_pools(
        "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: ci}\nspec:\n  max: 50\n"
        "  gpuLimit: 40\n  instances: [g4dn.xlarge, g4dn.2xlarge]\n  scaleDownDelay: 5m\n"
        "  node: {labels: {role: gpu}, taints: [\"nvidia.com/gpu=true:NoSchedule\"]}\n" +
        more);
    EXPECT_EQ(read.pools.size(), 1U) << text_of("pool", read.problems);
    return read.pools.at(0);
}

// R98.
TEST(KarpenterPool, HasALimitInGpusAndLeavesNodesWithPodsAlone) {
    const auto pools = node_pools(pool("  capacity: [on-demand]\n"), {});
    ASSERT_EQ(pools.size(), 1U);
    EXPECT_EQ(text_at(pools[0], "metadata.name"), "ci");
    EXPECT_EQ(text_at(pools[0], "spec.limits[nvidia.com/gpu]"), "40");
    EXPECT_EQ(text_at(pools[0], "spec.disruption.consolidationPolicy"), "WhenEmpty");
    EXPECT_EQ(text_at(pools[0], "spec.disruption.consolidateAfter"), "300s");
    EXPECT_EQ(text_at(pools[0], "spec.disruption.budgets.1.nodes"), "0");
    EXPECT_EQ(text_at(pools[0], "spec.template.spec.nodeClassRef.group"), "karpenter.k8s.aws");
    EXPECT_EQ(text_at(pools[0], "spec.template.spec.taints.0.value"), "true");
    EXPECT_EQ(text_at(pools[0], "spec.template.metadata.labels[aliquot.dev/pool]"), "ci");
    EXPECT_EQ(text_at(pools[0], "spec.template.spec.requirements.0.values.1"), "g4dn.2xlarge");
}

// R83.
TEST(KarpenterPool, TriesSpotBeforeOnDemandInOneNodePoolWithOneLimit) {
    const auto pools = node_pools(pool("  capacity: [spot, on-demand]\n"), {});
    ASSERT_EQ(pools.size(), 1U);
    EXPECT_EQ(text_at(pools[0], "metadata.name"), "ci");
    const std::string kinds = "spec.template.spec.requirements.1.values";
    EXPECT_EQ(text_at(pools[0], kinds + ".0"), "spot");
    EXPECT_EQ(text_at(pools[0], kinds + ".1"), "on-demand");
    Pool production = pool("  capacity: [spot, on-demand]\n");
    production.environment = "production";
    ASSERT_EQ(node_pools(production, {}).size(), 1U);
    EXPECT_EQ(document::to_yaml(node_pools(production, {})[0]).find("spot"), std::string::npos);
}

TEST(KarpenterPool, OfOnDemandBeforeSpotNeverHasMoreThanItsMaximumInBoth) {
    const Pool both = pool("  capacity: [on-demand, spot]\n");
    const auto limits = [&](const Numbers& numbers) {
        const auto pools = node_pools(both, numbers);
        EXPECT_EQ(pools.size(), 2U);
        EXPECT_EQ(text_at(pools.at(0), "metadata.name"), "ci-on-demand");
        EXPECT_EQ(text_at(pools.at(0), "spec.weight"), "100");
        EXPECT_EQ(text_at(pools.at(1), "metadata.name"), "ci-spot");
        EXPECT_EQ(text_at(pools.at(1), "spec.weight"), "50");
        return std::pair(text_at(pools.at(0), "spec.limits.nodes"),
                         text_at(pools.at(1), "spec.limits.nodes"));
    };
    EXPECT_EQ(limits({}), std::pair(std::string("40"), std::string("0")));
    EXPECT_EQ(limits({.spot_nodes = 3, .on_demand_nodes = 5}),
              std::pair(std::string("37"), std::string("3")));
    EXPECT_EQ(limits({.spot_nodes = 3, .on_demand_nodes = 5, .first_gave_up = true}),
              std::pair(std::string("5"), std::string("35")));
    EXPECT_EQ(limits({.most = 4, .spot_nodes = 3, .on_demand_nodes = 5}),
              std::pair(std::string("1"), std::string("3")));
}

TEST(KarpenterPool, TellsKarpenterOfSharesByAnOverlay) {
    const Pool shares = pool("  capacity: [spot]\n");
    Pool shared = shares;
    shared.node.amounts = {{"cpu", 4}, {"nvidia.com/gpu.shared", 4}};
    const auto outputs = outputs_of(shared, {});
    ASSERT_EQ(outputs.objects.size(), 4U);
    EXPECT_EQ(text_at(outputs.objects[1], "kind"), "NodeOverlay");
    EXPECT_EQ(text_at(outputs.objects[1], "spec.capacity[nvidia.com/gpu.shared]"), "4");
    EXPECT_EQ(text_at(outputs.objects[1], "spec.requirements.0.key"), "aliquot.dev/pool");
    EXPECT_NE(outputs.remarks.at(0).find("NodeOverlay"), std::string::npos);
    EXPECT_EQ(outputs_of(shares, {}).objects.size(), 3U);
}

TEST(KarpenterPool, HasReplicasAndNothingThatForbidsThemWhenStatic) {
    const auto outputs = outputs_of(pool("  engine: karpenter-static\n"), {.nodes = 3});
    ASSERT_EQ(outputs.objects.size(), 1U);
    EXPECT_EQ(text_at(outputs.objects[0], "spec.replicas"), "3");
    EXPECT_EQ(text_at(outputs.objects[0], "spec.limits.nodes"), "40");
    EXPECT_EQ(document::at_path(outputs.objects[0], "spec.weight"), nullptr);
    EXPECT_EQ(document::at_path(outputs.objects[0], "spec.disruption"), nullptr);
    EXPECT_NE(outputs.remarks.at(0).find("StaticCapacity"), std::string::npos);
}

TEST(Placeholders, HoldAWholeNodeEachAndGiveWayToEveryPod) {
    const auto outputs = outputs_of(pool("  engine: placeholder\n"), {.placeholders = 5});
    ASSERT_EQ(outputs.objects.size(), 2U);
    EXPECT_EQ(text_at(outputs.objects[0], "value"), "-10");
    EXPECT_EQ(text_at(outputs.objects[1], "spec.replicas"), "5");
    const std::string container = "spec.template.spec.containers.0.resources.limits";
    EXPECT_EQ(text_at(outputs.objects[1], container + "[nvidia.com/gpu]"), "1");
    EXPECT_EQ(text_at(outputs.objects[1], "spec.template.spec.tolerations.0.operator"), "Exists");
}

TEST(AutoscalerTags, SayWhatANodeWillHave) {
    const auto tags = autoscaler_tags(pool("  engine: cluster-autoscaler\n"));
    const std::string base = "k8s.io/cluster-autoscaler/node-template/";
    EXPECT_EQ(document::text_of(tags.find(base + "resources/nvidia.com/gpu")), "1");
    EXPECT_EQ(document::text_of(tags.find(base + "label/role")), "gpu");
    EXPECT_EQ(document::text_of(tags.find(base + "taint/nvidia.com/gpu")), "true:NoSchedule");
}

}  // namespace
}  // namespace aliquot::pools
