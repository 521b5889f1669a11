// SPDX-License-Identifier: Apache-2.0
#include "top/history.h"

#include <gtest/gtest.h>

#include <functional>

#include "top/test_world.h"

namespace aliquot::top {
namespace {

/// The same cluster, `seconds` later.
ClusterSnapshot later(const ClusterSnapshot& cluster, int seconds,
                      const std::function<void(telemetry::Snapshot&)>& change = {}) {
    ClusterSnapshot next = cluster;
    next.now += std::chrono::seconds{seconds};
    for (Agent& agent : next.agents) {
        if (!agent.snapshot) continue;
        telemetry::Snapshot snapshot = *agent.snapshot;
        ++snapshot.sequence;
        snapshot.at += std::chrono::seconds{seconds};
        if (change) change(snapshot);
        agent.snapshot = std::make_shared<const telemetry::Snapshot>(std::move(snapshot));
    }
    return next;
}

TEST(TopHistory, TakesEachSnapshotOnce) {
    History history;
    const ClusterSnapshot cluster = one_node();
    history.add(cluster);
    history.add(cluster);
    const std::string key = gpu_key(cluster.agents[0].snapshot->devices[0]);
    EXPECT_EQ(history.of(key).size(), 1U);
    history.add(later(cluster, 1));
    EXPECT_EQ(history.of(key).size(), 2U);
    EXPECT_EQ(history.of(key).back(), 720'000U);
}

TEST(TopHistory, IsBoundedAndForgetsWhatIsGone) {
    History history;
    ClusterSnapshot cluster = one_node();
    for (std::size_t i = 0; i < History::kMost + 10; ++i) {
        cluster = later(cluster, 1);
        history.add(cluster);
    }
    const auto& snapshot = *cluster.agents[0].snapshot;
    const std::string key = gpu_key(snapshot.devices[0]);
    const std::string pod = tenant_key(snapshot.devices[0], snapshot.devices[0].parts[0],
                                       snapshot.devices[0].parts[0].tenants[0]);
    EXPECT_EQ(history.of(key).size(), History::kMost);
    EXPECT_EQ(history.of(pod).size(), History::kMost);
    history.add(later(cluster, 1, [](telemetry::Snapshot& next) {
        next.devices[0].parts[0].tenants.erase(next.devices[0].parts[0].tenants.begin());
    }));
    EXPECT_TRUE(history.of(pod).empty());
    EXPECT_EQ(history.of(key).size(), History::kMost);
}

TEST(TopHistory, SaysHowMuchOfTheTimeATenantWasHeldBack) {
    History history;
    const ClusterSnapshot cluster = one_node();
    const auto& device = cluster.agents[0].snapshot->devices[0];
    const std::string pod = tenant_key(device, device.parts[0], device.parts[0].tenants[0]);
    history.add(cluster);
    EXPECT_FALSE(history.throttled_ppm(pod));
    const ClusterSnapshot next = later(cluster, 2, [](telemetry::Snapshot& snapshot) {
        *snapshot.devices[0].parts[0].tenants[0].throttled_ns += kSecondNs / 2;
    });
    history.add(next);
    EXPECT_EQ(history.throttled_ppm(pod), 250'000U);
    // A counter that began anew says nothing.
    history.add(later(next, 2, [](telemetry::Snapshot& snapshot) {
        snapshot.devices[0].parts[0].tenants[0].throttled_ns = 1;
    }));
    EXPECT_FALSE(history.throttled_ppm(pod));
}

}  // namespace
}  // namespace aliquot::top
