// SPDX-License-Identifier: Apache-2.0
#include "k8s/pod_affinity.h"

#include <gtest/gtest.h>

#include "document/json.h"

namespace aliquot::k8s {
namespace {

PodAffinity read(const char* spec) {
    const auto root = document::parse_json(spec);
    EXPECT_TRUE(root);
    return root ? read_pod_affinity(*root) : PodAffinity();
}

TEST(PodAffinity, TermsSelectPodsOfTheirOwnNamespaceUnlessTheyNameOthers) {
    const auto made = read(R"({"affinity":{
      "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}}}]},
      "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"kubernetes.io/hostname","namespaces":["b"],"labelSelector":{}},
        {"topologyKey":"zone"},
        {"topologyKey":"zone","namespaceSelector":{},"labelSelector":{}}]}}})");
    ASSERT_EQ(made.with.size(), 1U);
    EXPECT_EQ(made.with[0].topology_key, "zone");
    EXPECT_TRUE(made.with[0].selects("a", "a", {{"app", "db"}}));
    EXPECT_FALSE(made.with[0].selects("a", "b", {{"app", "db"}}));
    EXPECT_FALSE(made.with[0].selects("a", "a", {{"app", "web"}}));
    ASSERT_EQ(made.without.size(), 3U);
    EXPECT_FALSE(made.without[0].selects("a", "a", {}));
    EXPECT_TRUE(made.without[0].selects("a", "b", {}));
    EXPECT_FALSE(made.without[1].selects("a", "a", {})) << "no selector selects no pod";
    EXPECT_TRUE(made.without[2].selects("a", "c", {}));
}

TEST(PodAffinity, PortsOfTheNodeCollideByProtocolAndAddress) {
    const auto made = read(R"({"containers":[{"ports":[
        {"containerPort":80,"hostPort":8080},{"containerPort":81},
        {"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"}]}],
      "initContainers":[{"ports":[{"hostPort":1}]},
        {"restartPolicy":"Always","ports":[{"hostPort":2}]}]})");
    ASSERT_EQ(made.ports.size(), 3U);
    EXPECT_EQ(made.ports[0], (HostPort{"", "TCP", 8080}));
    EXPECT_EQ(made.ports[2].port, 2);
    EXPECT_TRUE(collide(made.ports[0], {"10.0.0.1", "TCP", 8080}));
    EXPECT_FALSE(collide(made.ports[0], {"", "UDP", 8080}));
    EXPECT_FALSE(collide(made.ports[1], {"10.0.0.2", "UDP", 53}));
    EXPECT_TRUE(collide(made.ports[1], {"0.0.0.0", "UDP", 53}));
}

TEST(PodAffinity, SpreadAndPreferencesAreRead) {
    const auto made = read(R"({"topologySpreadConstraints":[
        {"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{}},
        {"maxSkew":0,"topologyKey":"rack","whenUnsatisfiable":"ScheduleAnyway"}],
      "affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":7,"preference":{"matchExpressions":[{"key":"disk","operator":"Exists"}]}}]}}})");
    ASSERT_EQ(made.spread.size(), 2U);
    EXPECT_EQ(made.spread[0].max_skew, 2U);
    EXPECT_TRUE(made.spread[0].is_required);
    EXPECT_EQ(made.spread[1].max_skew, 1U);
    EXPECT_FALSE(made.spread[1].is_required);
    ASSERT_EQ(made.preferred.size(), 1U);
    EXPECT_EQ(made.preferred[0].weight, 7);
    EXPECT_TRUE(made.preferred[0].term.matches("n", {{"disk", "ssd"}}));
    EXPECT_TRUE(read("{}").empty());
    EXPECT_TRUE(read(R"({"affinity":7,"containers":{},"topologySpreadConstraints":"x"})").empty());
}

}  // namespace
}  // namespace aliquot::k8s
