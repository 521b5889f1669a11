// SPDX-License-Identifier: Apache-2.0
//
// What other pods and preferences mean for where a pod is let go to.
#include <gmock/gmock.h>

#include "scheduling/books.h"

namespace aliquot::scheduling {
namespace {

using Kind = Decision::Kind;
using testing::HasSubstr;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kHost[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";

ServedNode node(const std::string& name, const std::string& zone = "z") {
    ServedNode made{.name = name, .labels = {{kHost, name}, {kZone, zone}}};
    made.is_open = true;
    made.cpu_milli = 64'000;
    made.memory_mib = 1'000'000;
    for (unsigned i = 0; i < 8; ++i)
        made.gpus.push_back({"GPU-" + name + "-" + std::to_string(i), {{kGpu, 1}}});
    return made;
}

GpuPod pod(const std::string& name, const std::string& app = "a") {
    GpuPod made{.uid = "uid-" + name, .name_space = "team", .name = name};
    made.is_gated = true;
    made.labels = {{"app", app}};
    made.devices = {{"main", kGpu, 1}};
    return made;
}

k8s::PodTerm term(const std::string& app, const std::string& key) {
    return {.selector = k8s::LabelSelector{{.key = "app", .values = {app}}}, .topology_key = key};
}

GpuPod bound(GpuPod pod, const std::string& node) {
    pod.node = node;
    pod.is_gated = false;
    return pod;
}

std::vector<std::string> nodes_of(const Decision& decision) {
    std::vector<std::string> names;
    for (const Target& target : decision.targets) names.push_back(target.node);
    return names;
}

class NeighboursTest : public testing::Test {
protected:
    void SetUp() override {
        for (unsigned i = 0; i < 20; ++i)
            books_.set_node(node("n" + std::to_string(i), i < 10 ? "a" : "b"));
    }
    Books books_{{.targets = 3, .spread_targets = 3}};
};

TEST_F(NeighboursTest, PodAffinityIsFollowedToTheNodeOfTheOtherPod) {
    GpuPod db = bound(pod("db", "db"), "n17");
    db.devices.clear();
    books_.set_pod(db);
    GpuPod wants = pod("p");
    wants.affinity.with = {term("db", kHost)};
    EXPECT_THAT(nodes_of(books_.decide(wants)), testing::ElementsAre("n17"));
    GpuPod by_zone = pod("q");
    by_zone.affinity.with = {term("db", kZone)};
    for (const std::string& name : nodes_of(books_.decide(by_zone)))
        EXPECT_GE(std::stoi(name.substr(1)), 10) << name;
}

TEST_F(NeighboursTest, APodNearOneOnANodeThatIsNotOursGoesByItsZone) {
    books_.set_labels("cpu-1", {{kHost, "cpu-1"}, {kZone, "b"}});
    GpuPod db = bound(pod("db", "db"), "cpu-1");
    db.devices.clear();
    books_.set_pod(db);
    GpuPod wants = pod("p");
    wants.affinity.with = {term("db", kZone)};
    for (const std::string& name : nodes_of(books_.decide(wants)))
        EXPECT_GE(std::stoi(name.substr(1)), 10) << name;
}

TEST_F(NeighboursTest, APodThatWantsOneThatIsNotThereWaits) {
    GpuPod wants = pod("p");
    wants.affinity.with = {term("db", kZone)};
    const Decision decision = books_.decide(wants);
    EXPECT_EQ(decision.kind, Kind::kWaits);
    EXPECT_THAT(decision.why, HasSubstr("has no pod beside it that the pod's affinity asks for"));
    GpuPod first = pod("q");
    first.affinity.with = {term("a", kZone)};
    EXPECT_EQ(books_.decide(first).kind, Kind::kPlaced) << "the first of its own kind";
}

TEST_F(NeighboursTest, TheSecondOfAKindFollowsTheFirstThatIsOnlyPlanned) {
    GpuPod first = pod("p1");
    first.affinity.with = {term("a", kHost)};
    const auto where = nodes_of(books_.decide(first));
    GpuPod second = pod("p2");
    second.affinity.with = {term("a", kHost)};
    EXPECT_THAT(nodes_of(books_.decide(second)), testing::IsSubsetOf(where));
}

TEST_F(NeighboursTest, AntiAffinityKeepsOffWhoeverSaysIt) {
    GpuPod alone = bound(pod("alone"), "n3");
    alone.affinity.without = {term("b", kZone)};
    books_.set_pod(alone);
    for (const std::string& name : nodes_of(books_.decide(pod("p", "b"))))
        EXPECT_GE(std::stoi(name.substr(1)), 10) << "what the other one says: " << name;
    GpuPod says = pod("q", "c");
    says.affinity.without = {term("a", kZone)};
    for (const std::string& name : nodes_of(books_.decide(says)))
        EXPECT_GE(std::stoi(name.substr(1)), 10) << "what it says itself: " << name;
    EXPECT_EQ(books_.decide(pod("r", "c")).kind, Kind::kPlaced);
}

TEST_F(NeighboursTest, ManyThatKeepApartGetDifferentNodesBeforeAnyIsBound) {
    std::set<std::string> first_choices;
    for (unsigned i = 0; i < 6; ++i) {
        GpuPod apart = pod("p" + std::to_string(i));
        apart.affinity.without = {term("a", kHost)};
        for (const std::string& name : nodes_of(books_.decide(apart)))
            EXPECT_TRUE(first_choices.insert(name).second) << name;
    }
    EXPECT_EQ(first_choices.size(), 18U);
}

TEST_F(NeighboursTest, APortThatIsInUseKeepsOff) {
    for (unsigned i = 0; i < 19; ++i) {
        GpuPod has = bound(pod("has" + std::to_string(i)), "n" + std::to_string(i));
        has.affinity.ports = {{"", "TCP", 8080}};
        books_.set_pod(has);
    }
    GpuPod wants = pod("p");
    wants.affinity.ports = {{"10.0.0.1", "TCP", 8080}};
    EXPECT_THAT(nodes_of(books_.decide(wants)), testing::ElementsAre("n19"));
    books_.set_pod(bound(wants, "n19"));
    GpuPod late = pod("late");
    late.affinity.ports = wants.affinity.ports;
    const Decision decision = books_.decide(late);
    EXPECT_EQ(decision.kind, Kind::kWaits);
    EXPECT_THAT(decision.why, HasSubstr("has a port in use that the pod asks for"));
}

TEST_F(NeighboursTest, PreferencesComeBeforeOurOwnCost) {
    GpuPod prefers = pod("p");
    prefers.affinity.preferred = {
        {.weight = 10, .term = {.labels = {{.key = kHost, .values = {"n13"}}}, .fields = {}}}};
    EXPECT_EQ(nodes_of(books_.decide(prefers)).at(0), "n13");
    for (unsigned i = 0; i < 20; ++i) {
        ServedNode tainted = node("n" + std::to_string(i), i < 10 ? "a" : "b");
        if (i != 15) tainted.taints = {{"spot", "", "PreferNoSchedule"}};
        books_.set_node(tainted);
    }
    EXPECT_EQ(nodes_of(books_.decide(pod("q"))).at(0), "n15");
}

TEST_F(NeighboursTest, PodsThatSpreadGoWhereFewestAre) {
    for (unsigned i = 0; i < 3; ++i) books_.set_pod(bound(pod("s" + std::to_string(i)), "n1"));
    GpuPod spreads = pod("p");
    spreads.spreads = true;
    spreads.affinity.spread = {
        {.selector = k8s::LabelSelector{{.key = "app", .values = {"a"}}}, .topology_key = kZone}};
    EXPECT_GE(std::stoi(nodes_of(books_.decide(spreads)).at(0).substr(1)), 10);
}

TEST_F(NeighboursTest, ShapesAreToldApartByLabelsOnlyWhereThatMatters) {
    EXPECT_EQ(books_.shape(pod("p", "a")), books_.shape(pod("q", "b")));
    GpuPod alone = bound(pod("alone"), "n3");
    alone.affinity.without = {term("b", kZone)};
    books_.set_pod(alone);
    EXPECT_NE(books_.shape(pod("p", "a")), books_.shape(pod("q", "b")));
    books_.remove_pod(alone.uid);
    EXPECT_EQ(books_.shape(pod("p", "a")), books_.shape(pod("q", "b")));
}

}  // namespace
}  // namespace aliquot::scheduling
