// SPDX-License-Identifier: Apache-2.0
#include "pools/demand.h"

#include <gtest/gtest.h>

namespace aliquot::pools {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const k8s::Amounts kT4{{"cpu", 8}, {"memory", 32e9}, {"nvidia.com/gpu", 1}};
const k8s::Amounts kShared{{"cpu", 8}, {"memory", 32e9}, {"nvidia.com/gpu.shared", 4}};

std::vector<Claim> claims(unsigned count, const k8s::Amounts& amounts) {
    std::vector<Claim> all;
    for (unsigned i = 0; i < count; ++i) all.push_back({"ci/job-" + std::to_string(i), amounts});
    return all;
}
QueueNeed need(const std::vector<Claim>& waiting, const std::vector<PoolNode>& nodes,
               const k8s::Amounts& shape) {
    return need_of(waiting, nodes, {.amounts = shape}, minutes(15), 100);
}

TEST(QueueDemand, CountsSharesAsShares) {
    const k8s::Amounts share{{"nvidia.com/gpu.shared", 1}};
    EXPECT_EQ(need(claims(4, share), {}, kShared).more, 1U);
    EXPECT_EQ(need(claims(9, share), {}, kShared).more, 3U);
    const PoolNode half{.name = "a",
                        .free = {{"cpu", 4}, {"nvidia.com/gpu.shared", 2}},
                        .is_ready = true,
                        .pods = 2};
    const auto two = need(claims(2, share), {half}, kShared);
    EXPECT_EQ(two.more, 0U);
    EXPECT_EQ(two.nodes, 1U);
}

TEST(QueueDemand, CountsWholeDevices) {
    EXPECT_EQ(need(claims(3, {{"nvidia.com/gpu", 1}}), {}, kT4).more, 3U);
    EXPECT_EQ(need(claims(1, {{"nvidia.com/gpu", 2}}), {}, kT4).too_large,
              std::vector<std::string>{"ci/job-0"});
    // The CPU runs out before the GPUs do.
    EXPECT_EQ(need(claims(4, {{"nvidia.com/gpu.shared", 1}, {"cpu", 4}}), {}, kShared).more, 2U);
    EXPECT_EQ(need(claims(1, {{"example.com/fpga", 1}}), {}, kT4).too_large.size(), 1U);
}

TEST(QueueDemand, AsksForNoSecondNodeWhileOneStarts) {
    const PoolNode fresh{
        .name = "a", .not_passed = "device plugin: no resource yet", .seen = minutes(3)};
    const auto waits = need(claims(1, {{"nvidia.com/gpu", 1}}), {fresh}, kT4);
    EXPECT_EQ(waits.more, 0U);
    EXPECT_EQ(waits.placed, 1U);
    PoolNode broken = fresh;
    broken.seen = minutes(16);
    EXPECT_EQ(need(claims(1, {{"nvidia.com/gpu", 1}}), {broken}, kT4).more, 1U);
}

TEST(QueueDemand, LeavesNodesOutThatGo) {
    const PoolNode leaving{.name = "a", .free = kT4, .is_ready = true, .leaves = true};
    EXPECT_EQ(need(claims(1, {{"nvidia.com/gpu", 1}}), {leaving}, kT4).more, 1U);
}

TEST(QueueDemand, IsOfPodsThatThePoolMayTake) {
    Pool pool;
    pool.name = "ci";
    pool.instances = {"g4dn.xlarge", "g4dn.2xlarge"};
    pool.node.labels = {{"role", "gpu"}};
    pool.node.taints = {{"nvidia.com/gpu", "true", "NoSchedule"}};
    k8s::Pod pod;
    pod.containers = {{.name = "job", .requests = {{"nvidia.com/gpu", 1}}}};
    EXPECT_FALSE(may_take(pool, pod)) << "the taint";
    pod.tolerations = {{.key = "nvidia.com/gpu", .operation = "Exists"}};
    EXPECT_TRUE(may_take(pool, pod));
    pod.where.labels = {{"node.kubernetes.io/instance-type", "g4dn.2xlarge"}};
    EXPECT_TRUE(may_take(pool, pod));
    pod.where.labels = {{"role", "cpu"}};
    EXPECT_FALSE(may_take(pool, pod));
    pod.where.labels.clear();
    pod.containers[0].requests = {{"cpu", 1}};
    EXPECT_FALSE(may_take(pool, pod)) << "no GPU";
}

}  // namespace
}  // namespace aliquot::pools
