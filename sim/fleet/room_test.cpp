// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/room.h"

#include <gmock/gmock.h>

namespace aliquot::sim::fleet {
namespace {

using testing::HasSubstr;

k8s::Node node(const std::string& name, double gpus = 8) {
    k8s::Node made;
    made.name = name;
    made.labels = {{"kubernetes.io/hostname", name}};
    made.allocatable = {{"cpu", 8}, {"memory", 1e12}, {"pods", 110}, {"nvidia.com/gpu", gpus}};
    made.conditions.push_back({.type = "Ready", .status = "True"});
    return made;
}

k8s::Pod pod(double gpus, double cpu = 1) {
    k8s::Pod made;
    made.containers.push_back(
        {.name = "main", .requests = {{"cpu", cpu}, {"nvidia.com/gpu", gpus}}});
    return made;
}

TEST(Room, TheNodeWithMostCpuFreeIsChosen) {
    Room room;
    room.set_node(node("a"));
    room.set_node(node("b"));
    room.take("u1", "a", pod(1).requests());
    EXPECT_EQ(room.choose(pod(1)).node, "b");
}

TEST(Room, WhatAPodHadIsFreeWhenItIsGone) {
    Room room;
    room.set_node(node("a", 2));
    room.take("u1", "a", pod(2).requests());
    EXPECT_EQ(room.choose(pod(1)).why, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    room.give_back("u1");
    EXPECT_EQ(room.choose(pod(1)).node, "a");
}

TEST(Room, PodsThatWereSeenBeforeTheirNodeCount) {
    Room room;
    room.take("u1", "a", pod(2).requests());
    room.set_node(node("a", 2));
    EXPECT_EQ(room.choose(pod(1)).node, "");
}

TEST(Room, AffinityToNamedNodesIsKept) {
    Room room;
    for (const char* const name : {"a", "b", "c"}) room.set_node(node(name));
    k8s::Pod wants = pod(1);
    wants.where.has_terms = true;
    wants.where.terms = {{.labels = {}, .fields = {{.key = "metadata.name", .values = {"c"}}}}};
    EXPECT_EQ(room.choose(wants).node, "c");
    room.take("u1", "c", pod(8).requests());
    EXPECT_THAT(room.choose(wants).why,
                testing::AllOf(HasSubstr("0/3 nodes are available"),
                               HasSubstr("2 node(s) didn't match Pod's node affinity/selector"),
                               HasSubstr("1 Insufficient nvidia.com/gpu")));
}

TEST(Room, CordonTaintsAndReadinessKeepPodsOff) {
    Room room;
    k8s::Node cordoned = node("a");
    cordoned.is_cordoned = true;
    k8s::Node tainted = node("b");
    tainted.taints.push_back({{.key = "gpu", .value = "yes", .effect = "NoSchedule"}, ""});
    k8s::Node silent = node("c");
    silent.conditions[0].status = "Unknown";
    for (const auto& one : {cordoned, tainted, silent}) room.set_node(one);
    EXPECT_EQ(room.choose(pod(1)).why,
              "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were "
              "not ready, 1 node(s) were unschedulable.");
    k8s::Pod tolerates = pod(1);
    tolerates.tolerations.push_back({.key = "gpu", .operation = "Exists"});
    EXPECT_EQ(room.choose(tolerates).node, "b");
}

TEST(Room, ANodeThatIsGoneTakesNothing) {
    Room room;
    room.set_node(node("a"));
    room.remove_node("a");
    EXPECT_EQ(room.choose(pod(1)).node, "");
}

}  // namespace
}  // namespace aliquot::sim::fleet
