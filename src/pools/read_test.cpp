// SPDX-License-Identifier: Apache-2.0
#include "pools/read.h"

#include <gtest/gtest.h>

namespace aliquot::pools {
namespace {

std::string file(const std::string& spec) {
    return "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata:\n  name: gpu-pool\nspec:\n" +
           spec;
}
std::string problems(const std::string& spec) {
    return text_of("pool.yaml", read_pools(file(spec)).problems);
}
Pool pool(const std::string& spec) {
    const auto read = read_pools(file(spec));
    EXPECT_EQ(read.pools.size(), 1U) << text_of("pool.yaml", read.problems);
    return read.pools.empty() ? Pool{} : read.pools[0];
}

const char* const kWhole = R"(  min: 0
  max: 5
  environment: staging
  engine: karpenter
  nodeClass: EC2NodeClass/gpu
  instances: [g4dn.xlarge, g4dn.2xlarge]
  capacity: [SPOT, ON_DEMAND]
  gpuLimit: 40
  warm: 1
  scaleDownDelay: 5m
  schedules:
  - name: office
    start: "0 9 * * 1-5"
    end: "0 18 * * 1-5"
    timeZone: Europe/Berlin
    replicas: 5
  node:
    labels: {role: gpu}
    taints: ["nvidia.com/gpu=true:NoSchedule"]
)";

TEST(PoolFile, ReadsAWholePoolAndKnowsItsMachines) {
    const Pool one = pool(kWhole);
    EXPECT_EQ(one.name, "gpu-pool");
    EXPECT_EQ(one.max, 5U);
    EXPECT_EQ(one.capacity, (std::vector{CapacityType::kSpot, CapacityType::kOnDemand}));
    EXPECT_EQ(one.schedules.at(0).replicas, 5U);
    EXPECT_EQ(one.scale_down_delay, std::chrono::minutes(5));
    EXPECT_DOUBLE_EQ(one.node.amounts.at("nvidia.com/gpu"), 1);
    EXPECT_DOUBLE_EQ(one.node.amounts.at("cpu"), 3.92);
    EXPECT_EQ(problems(kWhole), "");
}

// R77.
TEST(PoolFile, RefusesAMinimumAboveTheMaximum) {
    EXPECT_EQ(problems("  min: 6\n  max: 5\n  instances: [g4dn.xlarge]\n"),
              "pool.yaml:6:8: error: spec.min: 6 is more than max, which is 5\n");
}

TEST(PoolFile, RefusesAScheduleAboveTheMaximum) {
    EXPECT_NE(problems("  max: 3\n  instances: [g4dn.xlarge]\n  schedules:\n  - {name: a, start: "
                       "\"0 9 * * *\", duration: 1h, timeZone: UTC, replicas: 5}\n")
                  .find("pool.yaml:9:5: error: spec.schedules: 'a' wants 5 nodes, max is 3"),
              std::string::npos);
}

// One file for the cluster and for the provider: what is only the provider's is passed over.
TEST(PoolFile, MayHaveTheMachinesOfItsPools) {
    const auto read = read_pools(
        "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: lab}\nspec:\n  max: 1\n"
        "  engine: external\n  node: {resources: {nvidia.com/gpu: 1}}\n---\n"
        "kind: Machines\nmetadata: {name: lab}\nspec: {start: [on], machines: [{name: a}]}\n");
    EXPECT_FALSE(read.has_errors()) << text_of("lab.yaml", read.problems);
    EXPECT_EQ(read.pools.size(), 1U);
    EXPECT_TRUE(read_pools("kind: Machines\nmetadata: {name: lab}\n").has_errors());
}

// R80.
TEST(PoolFile, WarnsOfALoneUpSchedule) {
    const std::string lone =
        "  max: 5\n  instances: [g4dn.xlarge]\n  schedules:\n  - {name: up, start: \"0 9 * * "
        "1-5\", "
        "timeZone: UTC, replicas: 5}\n";
    EXPECT_EQ(
        problems(lone),
        "pool.yaml:9:5: warning: spec.schedules: 'up' raises the pool to 5 and nothing lowers it "
        "again; add 'end', 'duration', or a schedule with fewer replicas\n");
    EXPECT_EQ(
        problems(lone + "  - {name: down, start: \"0 18 * * 1-5\", timeZone: UTC, replicas: 0}\n"),
        "");
}

// R79.
TEST(PoolFile, WarnsOfAScheduleWithoutATimeZone) {
    EXPECT_NE(problems("  max: 5\n  instances: [g4dn.xlarge]\n  schedules:\n  - {name: a, start: "
                       "\"0 9 * * *\", duration: 9h, replicas: 5}\n")
                  .find("pool.yaml:9:5: warning: spec.schedules[0].timeZone: not said, so the "
                        "times are UTC"),
              std::string::npos);
}

// R88.
TEST(PoolFile, NeverPutsProductionOnSpot) {
    EXPECT_EQ(
        problems("  max: 5\n  environment: production\n  instances: [g4dn.xlarge]\n  capacity: "
                 "[spot, on-demand]\n"),
        "pool.yaml:9:13: error: spec.capacity: spot found, but environment is production, which "
        "never runs on spot; expected [on-demand]\n");
    EXPECT_EQ(problems("  max: 5\n  environment: staging\n  instances: [g4dn.xlarge]\n  capacity: "
                       "[spot]\n"),
              "");
}

// R89.
TEST(PoolFile, ReadsTheRunnersDelayUnderItsOldName) {
    const char* const spec =
        "  max: 10\n  instances: [g4dn.xlarge]\n  runnerScaleDownDelaySecondsAfterScaleOut: 60\n";
    EXPECT_EQ(pool(spec).scale_down_delay, std::chrono::seconds(60));
    EXPECT_NE(problems(spec).find("8:45: warning"), std::string::npos);
    EXPECT_EQ(pool("  max: 10\n  instances: [g4dn.xlarge]\n").scale_down_delay,
              std::chrono::seconds(300));
}

TEST(PoolFile, CountsALimitInGpus) {
    const Pool limited = pool("  max: 50\n  gpuLimit: 40\n  instances: [g4dn.12xlarge]\n");
    EXPECT_EQ(limited.gpus_per_node(), 4U);
    EXPECT_EQ(limited.most_nodes(), 10U);
}

TEST(PoolFile, SaysWhereAndWhatIsWrong) {
    EXPECT_NE(problems("  max: 5\n  maxx: 3\n  instances: [g4dn.xlarge]\n")
                  .find("pool.yaml:7:3: error: spec.maxx: no such key, did you mean 'max'?"),
              std::string::npos);
    EXPECT_NE(problems("  max: 99999\n  instances: [g4dn.xlarge]\n").find("from 0 to 10000"),
              std::string::npos);
    EXPECT_NE(
        problems("  max: 5\n  instances: [g4dn.xlargee]\n").find("did you mean 'g4dn.xlarge'?"),
        std::string::npos);
    EXPECT_NE(problems("  max: 5\n  max: 6\n  instances: [g4dn.xlarge]\n").find("there twice"),
              std::string::npos);
    EXPECT_NE(problems("  max: 5\n").find("nobody knows what a node has"), std::string::npos);
    EXPECT_TRUE(read_pools("").has_errors());
    EXPECT_TRUE(read_pools("kind: Pool").has_errors());
    EXPECT_TRUE(read_pools("a: [").has_errors());
}

TEST(PoolFile, CountsSharesWhereTheNodeNamesThem) {
    const Pool shares = pool(
        "  max: 5\n  instances: [g4dn.xlarge]\n  node:\n    resources: {nvidia.com/gpu.shared: "
        "4}\n");
    EXPECT_DOUBLE_EQ(shares.node.amounts.at("nvidia.com/gpu.shared"), 4);
    EXPECT_EQ(shares.node.amounts.count("nvidia.com/gpu"), 0U);
}

}  // namespace
}  // namespace aliquot::pools
