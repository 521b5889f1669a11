// SPDX-License-Identifier: Apache-2.0
#include "top/sums.h"

#include <gtest/gtest.h>

#include "top/print.h"
#include "top/test_world.h"

namespace aliquot::top {
namespace {

TEST(TopSums, CountWhatIsKnownOnly) {
    const Sums sums = sums_of(three_nodes());
    EXPECT_EQ(sums.gpus, 4U);
    EXPECT_EQ(sums.silent_gpus, 1U);
    EXPECT_EQ(sums.unhealthy_gpus, 1U);
    EXPECT_EQ(sums.busy_gpus, 3U);  // the lost one is not 0, it is not known
    EXPECT_EQ(sums.pods, 6U);
    EXPECT_EQ(sums.idle_pods, 1U);
    EXPECT_EQ(sums.slots, 8U);
    EXPECT_EQ(sums.allocated, 6U);
    EXPECT_EQ(sums.memory_used_bytes, 51 * kGiB);
    EXPECT_EQ(sums.price_per_hour, 5.0);
}

TEST(TopSums, AMigGpuIsAsBusyAsItsInstancesByTheirSize) {
    const telemetry::Snapshot node = shared_node();
    // 90 % of an eighth and 40 % of a half.
    EXPECT_EQ(busy_of(node.devices[1]), 312'500U);
    EXPECT_EQ(entitlement_of_gpu(node.devices[1], node.devices[1].parts[1],
                                 node.devices[1].parts[1].tenants[0]),
              125'000U);
}

TEST(TopSums, OnlyWhoHoldsAShareIsIdle) {
    telemetry::Tenant one = tenant("a", "b", 250'000, 0);
    one.idle_ns = kIdleAfterNs;
    EXPECT_TRUE(is_idle(one));
    one.idle_ns = kIdleAfterNs - 1;
    EXPECT_FALSE(is_idle(one));
    one.idle_ns.reset();
    EXPECT_FALSE(is_idle(one));
    one.idle_ns = kIdleAfterNs;
    one.resource.clear();
    EXPECT_FALSE(is_idle(one));
}

TEST(TopSums, RowsAndRestsOfACsvAddUpToTheGpu) {
    telemetry::Snapshot node = shared_node();
    node.devices.resize(1);
    ClusterSnapshot cluster;
    cluster.agents = {
        {.address = "a", .snapshot = std::make_shared<const telemetry::Snapshot>(node)}};
    const View view{.remainders = Remainders::kShown};
    const Table table = table_of(cluster, History{}, view);
    ASSERT_EQ(table.rows.size(), 4U);
    double percent = 0;
    for (const Row& row : table.rows) percent += row.cells[9].number.value_or(0);
    EXPECT_DOUBLE_EQ(percent, 72);
}

}  // namespace
}  // namespace aliquot::top
