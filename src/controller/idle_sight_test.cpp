// SPDX-License-Identifier: Apache-2.0
#include "controller/idle_sight.h"

#include <gtest/gtest.h>

namespace aliquot::controller {
namespace {

using std::chrono::seconds;
using telemetry::Snapshot;
using telemetry::Tenant;

constexpr std::uint64_t kMinute = 60'000'000'000;

Tenant tenant(const std::string& pod, std::uint64_t held, std::optional<std::uint64_t> idle) {
    Tenant made;
    made.owner.pod_namespace = "team";
    made.owner.pod = pod;
    made.owner.pod_uid = "uid-" + pod;
    made.resource = "nvidia.com/gpu";
    made.source = telemetry::Source::kWhole;
    made.held_ns = held * kMinute;
    if (idle) made.idle_ns = *idle * kMinute;
    return made;
}

/// A node with a GPU for each.
Snapshot node(const std::string& name, const std::vector<Tenant>& tenants) {
    Snapshot made;
    made.node = name;
    for (const Tenant& one : tenants) {
        made.devices.emplace_back().read_at.emplace();
        made.devices.back().parts.emplace_back().tenants.push_back(one);
    }
    return made;
}

class IdleSightTest : public testing::Test {
protected:
    std::set<std::string> idle(seconds least, seconds later = seconds(0)) const {
        std::set<std::string> names;
        for (const auto& pod : sight_.idle_for(least, now_ + later)) names.insert(pod.name);
        return names;
    }
    IdleSight::Steady::time_point now_ = IdleSight::Steady::now();
    IdleSight sight_{seconds(600)};
};

TEST_F(IdleSightTest, APodIsIdleWhenAllItsGpusAreAfterItsBeginning) {
    sight_.take(node("a", {tenant("idle", 60, 50), tenant("young", 35, 35), tenant("half", 60, 50),
                           tenant("half", 60, 1)}),
                now_);
    EXPECT_EQ(idle(seconds(1'800)), std::set<std::string>{"idle"});
    EXPECT_EQ(idle(seconds(1'500)), (std::set<std::string>{"idle", "young"}));
    EXPECT_EQ(sight_.idle_of({"uid-idle", "uid-young"}, now_), seconds(1'500));
}

// R74.
TEST_F(IdleSightTest, WhatIsNotMeasuredIsNotIdle) {
    auto blind = tenant("blind", 60, 50);
    blind.source = telemetry::Source::kNone;
    auto snapshot = node("a", {tenant("unknown", 60, std::nullopt), blind, tenant("lost", 60, 50),
                               tenant("idle", 60, 50)});
    snapshot.devices[2].problem = "it fell off the bus";
    sight_.take(snapshot, now_);
    EXPECT_EQ(idle(seconds(60)), std::set<std::string>{"idle"});
    EXPECT_EQ(sight_.idle_of({"uid-idle", "uid-lost"}, now_), std::nullopt);
    EXPECT_EQ(sight_.idle_of({"uid-idle", "uid-elsewhere"}, now_), std::nullopt);
    EXPECT_EQ(sight_.idle_of({}, now_), std::nullopt);
    EXPECT_TRUE(idle(seconds(60), seconds(90)).empty()) << "its agent is silent";
}

TEST_F(IdleSightTest, ANodeTellsAllOfItEachTime) {
    sight_.take(node("a", {tenant("x", 60, 50)}), now_);
    sight_.take(node("b", {tenant("y", 60, 50)}), now_);
    sight_.take(node("a", {tenant("x", 61, 0)}), now_);
    EXPECT_EQ(idle(seconds(60)), std::set<std::string>{"y"});
}

}  // namespace
}  // namespace aliquot::controller
