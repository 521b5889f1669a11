// SPDX-License-Identifier: Apache-2.0
#include "pools/reconcile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/time_text.h"
#include "document/json.h"
#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::pools {
namespace {

using document::text_at;
using document::Value;

Value read(const std::string& text) { return document::parse_yaml(text).documents.at(0); }
Instant at(std::string_view text) {
    return std::chrono::floor<std::chrono::seconds>(*parse_rfc3339(text));
}
const Instant kMorning = at("2026-11-24T08:30:00Z");  // Tuesday, 9:30 in Berlin

Value pool_object(const std::string& spec, const std::string& status = "") {
    return read(
        "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: ci, uid: u-1}\nspec:\n"
        "  max: 5\n  node: {resources: {cpu: 8, nvidia.com/gpu.shared: 4}}\n" +
        spec + (status.empty() ? "" : "\nstatus: " + status));
}
Value gpu_node(const std::string& name, const std::string& annotations = "",
               const std::string& spec = "") {
    return read("metadata: {name: " + name + ", uid: uid-" + name +
                ", creationTimestamp: '2026-11-24T06:00:00Z', labels: {aliquot.dev/pool: ci}, "
                "annotations: {" +
                annotations + "}}\nspec: {" + spec +
                "}\nstatus: {conditions: [{type: Ready, status: 'True'}], allocatable: {cpu: 8, "
                "nvidia.com/gpu.shared: 4}}\n");
}
Value share_pod(const std::string& name, unsigned shares, const std::string& spec) {
    const std::string count = std::to_string(shares);
    return read("metadata: {name: " + name +
                ", namespace: jobs, creationTimestamp: '2026-11-24T08:29:00Z'}\nspec: {" + spec +
                ", containers: [{name: a, resources: {requests: {nvidia.com/gpu.shared: " + count +
                "}, limits: {nvidia.com/gpu.shared: " + count +
                "}}}]}\nstatus: {phase: Pending, conditions: [{type: PodScheduled, status: "
                "'False', reason: Unschedulable}]}\n");
}
Value seen_pod(const std::string& name, unsigned shares) {
    return share_pod(name, shares, "priority: 0");
}
Value gated_pod(const std::string& name, unsigned shares) {
    return share_pod(name, shares, "schedulingGates: [{name: aliquot.dev/placement}]");
}
Value pod_on(const std::string& node, const std::string& name) {
    return share_pod(name, 1, "nodeName: " + node);
}
std::string placeholders_of(const Round& round) {
    for (const Value& one : round.objects) {
        if (text_at(one, "kind") == "Deployment") return text_at(one, "spec.replicas");
    }
    return "none";
}
Round look(const Value& object, const std::vector<Value>& nodes, const std::vector<Value>& pods) {
    return look_at_pool(object, nodes, pods, {}, kMorning);
}
const char* const kPlaceholder = "  engine: placeholder";

TEST(PoolRound, HoldsTheNodesOfAScheduleByPlaceholdersThatTheQueueDoesNotWantToo) {
    const Value object = pool_object(std::string(kPlaceholder) +
                                     "\n  schedules: [{name: office, start: '0 9 * * 1-5', end: "
                                     "'0 18 * * 1-5', timeZone: Europe/Berlin, replicas: 3}]");
    EXPECT_EQ(placeholders_of(look(object, {}, {})), "3");
    // Two nodes for six shares: an autoscaler makes them for the pods themselves.
    const auto round = look(object, {}, {seen_pod("a", 3), seen_pod("b", 3)});
    EXPECT_EQ(round.desired.nodes, 3U);
    EXPECT_EQ(placeholders_of(round), "1");
    EXPECT_EQ(placeholders_of(look(object, {gpu_node("n")}, {pod_on("n", "a")})), "2");
}

TEST(PoolRound, MakesRoomByPlaceholdersForPodsThatAutoscalersDoNotSee) {
    const Value object = pool_object(kPlaceholder);
    auto round = look(object, {}, {gated_pod("a", 3), gated_pod("b", 3), gated_pod("c", 1)});
    EXPECT_EQ(round.desired.nodes, 2U);
    EXPECT_EQ(placeholders_of(round), "2");
    // Once its node is there nothing holds it against the pod.
    round = look(object, {gpu_node("n")}, {gated_pod("a", 3)});
    EXPECT_EQ(round.desired.nodes, 1U);
    EXPECT_EQ(placeholders_of(round), "0");
}

TEST(PoolRound, LeavesAPodToThePoolThatMakesRoomForItAlready) {
    const Value object = pool_object(kPlaceholder);
    const auto first = look(object, {}, {gated_pod("a", 1)});
    EXPECT_EQ(first.served, std::set<std::string>{"jobs/a"});
    const auto second = look_at_pool(object, {}, {gated_pod("a", 1)}, first.served, kMorning);
    EXPECT_EQ(second.desired.nodes, 0U);
}

TEST(PoolRound, AsksForAnotherNodeBeforeOneHasGone) {
    const Value object = pool_object(kPlaceholder);
    const auto going = gpu_node("n", "aliquot.dev/leaves-at: '2026-11-24T08:31:30Z'");
    const auto round = look(object, {going}, {pod_on("n", "a")});
    EXPECT_EQ(round.desired.present, 0U);
    EXPECT_EQ(round.desired.nodes, 1U);
    EXPECT_EQ(placeholders_of(round), "1");
    ASSERT_EQ(round.observed.leaving.size(), 1U);
    EXPECT_EQ(round.observed.leaving[0].pods.size(), 1U);
    EXPECT_TRUE(std::ranges::any_of(round.desired.reasons, [](const std::string& one) {
        return one.find("n goes at 2026-11-24T08:31:30Z") != std::string::npos;
    }));
}

TEST(PoolRound, EndsPodsOfANodeThatGoesInTimeForThemToSave) {
    const auto going = gpu_node("n", "aliquot.dev/leaves-at: '2026-11-24T08:32:00Z'");
    const auto round =
        look(pool_object(kPlaceholder), {going},
             {pod_on("n", "quick"),
              share_pod("slow", 1, "nodeName: n, terminationGracePeriodSeconds: 90")});
    ASSERT_EQ(round.observed.leaving.size(), 1U);
    const auto due = [&](const char* when) {
        std::string names;
        for (const auto& pod : round.observed.leaving[0].to_end(at(when))) names += pod.name + " ";
        return names;
    };
    EXPECT_EQ(due("2026-11-24T08:30:20Z"), "");
    EXPECT_EQ(due("2026-11-24T08:30:25Z"), "slow ");
    EXPECT_EQ(due("2026-11-24T08:31:24Z"), "slow ");
    EXPECT_EQ(due("2026-11-24T08:31:25Z"), "quick slow ");
}

TEST(PoolRound, CountsANodeWithADirtyGpuAsSickAndNotAsIdle) {
    const auto sick = gpu_node(
        "n", "", "taints: [{key: aliquot.dev/gpu-gate, value: dirty, effect: NoSchedule}]");
    const auto round = look(pool_object(kPlaceholder), {sick}, {seen_pod("a", 1)});
    EXPECT_EQ(round.desired.sick, 1U);
    EXPECT_EQ(round.desired.present, 0U);
    EXPECT_EQ(round.desired.ask, 1U);
    EXPECT_TRUE(round.desired.remove.empty());
}

TEST(PoolRound, KeepsNodesFromClusterAutoscalerForAsLongAsThePoolSays) {
    const Value object = pool_object(std::string(kPlaceholder) + "\n  scaleDownDelay: 10m");
    auto round = look(object, {gpu_node("n")}, {});
    ASSERT_EQ(round.marks.size(), 1U);
    EXPECT_EQ(round.marks[0].uid, "uid-n");
    EXPECT_EQ(round.marks[0].annotations.at("aliquot.dev/empty-since"), "2026-11-24T08:30:00Z");
    // Seen empty for the first time, but two hours old: it may have been empty for long.
    const std::string marks =
        "aliquot.dev/kept-by: ci, aliquot.dev/empty-since: '2026-11-24T08:25:00Z'";
    EXPECT_TRUE(look(object, {gpu_node("n", marks)}, {}).marks.empty());
    const std::string old =
        "aliquot.dev/kept-by: ci, aliquot.dev/empty-since: '2026-11-24T08:15:00Z'";
    round = look(object, {gpu_node("n", old)}, {});
    ASSERT_EQ(round.marks.size(), 1U);
    EXPECT_FALSE(round.marks[0].annotations.contains(
        "cluster-autoscaler.kubernetes.io/scale-down-disabled"));
    EXPECT_EQ(round.desired.remove, std::vector<std::string>{"n"});
    // Karpenter has that delay in its NodePool.
    const auto karpenter = look(pool_object("  engine: karpenter"), {gpu_node("n")}, {});
    EXPECT_FALSE(karpenter.marks.at(0).annotations.contains("aliquot.dev/kept-by"));
}

// Cluster Autoscaler takes a node with the taint for one that starts, and buys no second one meanwhile.
TEST(PoolRound, TakesTheStartupTaintFromANodeThatHasPassedItsGates) {
    const std::string taints =
        "taints: [{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}, {key: "
        "startup-taint.cluster-autoscaler.kubernetes.io/aliquot, value: 'true', effect: "
        "NoSchedule}]";
    const Value object = pool_object("  engine: external");
    const auto round = look(object, {gpu_node("a", "", taints), gpu_node("b")}, {});
    ASSERT_EQ(round.started.size(), 1U);
    EXPECT_EQ(round.started[0].node, "a");
    ASSERT_EQ(round.started[0].taints.size(), 1U);
    EXPECT_EQ(text_at(round.started[0].taints[0], "key"), "nvidia.com/gpu");
    const Value late =
        read("metadata: {name: a, labels: {aliquot.dev/pool: ci}}\nspec: {" + taints +
             "}\nstatus: {conditions: [{type: Ready, status: 'True'}], allocatable: {cpu: 8}}\n");
    EXPECT_TRUE(look(object, {late}, {}).started.empty()) << "its device plugin is late";
}

TEST(PoolRound, TakesItsMarksFromNodesThatAreNobodysAnyMore) {
    const std::vector<Value> nodes{gpu_node("a", "aliquot.dev/kept-by: gone"), gpu_node("b"),
                                   gpu_node("c", "aliquot.dev/kept-by: ci")};
    const auto strays = stray_marks(nodes, {"c"});
    ASSERT_EQ(strays.size(), 1U);
    EXPECT_EQ(strays[0].node, "a");
    EXPECT_TRUE(strays[0].annotations.empty());
}

TEST(PoolRound, NamesWhatItWantsNoMore) {
    const std::string status =
        "{outputs: [{apiVersion: karpenter.sh/v1, kind: NodePool, name: ci-spot}, {apiVersion: "
        "karpenter.sh/v1, kind: NodePool, name: ci}, {apiVersion: scheduling.k8s.io/v1, kind: "
        "PriorityClass, name: aliquot-placeholder}]}";
    const auto round = look(pool_object("  engine: karpenter", status), {}, {});
    ASSERT_EQ(round.obsolete.size(), 1U);
    EXPECT_EQ(round.obsolete[0].name, "ci-spot");
    EXPECT_EQ(text_at(round.objects.at(0), "metadata.ownerReferences.0.uid"), "u-1");
}

TEST(PoolStatus, IsWrittenWhenItIsNewsAndKeepsTheTimesOfItsConditions) {
    Value object = pool_object(kPlaceholder);
    const auto round = look(object, {}, {});
    const Value first = status_of(round, {}, object, kMorning);
    EXPECT_TRUE(is_news(Value{}, first, kMorning));
    // As the API server gives it back: keys in another order.
    Value stored = *document::parse_json(document::to_json_line(first));
    std::ranges::reverse(stored.entries);
    document::append(object, "status", stored);
    const Instant later = kMorning + std::chrono::minutes(1);
    const Value second = status_of(look_at_pool(object, {}, {}, {}, later), {}, object, later);
    EXPECT_FALSE(is_news(stored, second, later)) << document::to_yaml(second);
    EXPECT_EQ(text_at(second, "conditions.0.lastTransitionTime"), "2026-11-24T08:30:00Z");
    EXPECT_TRUE(is_news(stored, second, kMorning + std::chrono::minutes(10)));
    const Value refused = status_of(round, {.problems = {"no"}, .written = {}}, object, later);
    EXPECT_TRUE(is_news(stored, refused, later));
    EXPECT_EQ(text_at(refused, "conditions.1.status"), "False");
    EXPECT_EQ(text_at(refused, "conditions.1.lastTransitionTime"), "2026-11-24T08:31:00Z");
}

TEST(PoolStatus, SaysWhatIsWrongWithTheSpecAndNothingElseIsDone) {
    const Value object = pool_object("  min: 9");
    const auto round = look(object, {gpu_node("n")}, {});
    EXPECT_FALSE(round.is_valid);
    EXPECT_TRUE(round.objects.empty() && round.marks.empty());
    const Value status = status_of(round, {}, object, kMorning);
    EXPECT_EQ(text_at(status, "conditions.0.status"), "False");
    EXPECT_NE(text_at(status, "conditions.0.message").find("9 is more than max"),
              std::string::npos);
}

TEST(PoolStatus, RemembersItsStepOverARestart) {
    const std::string spec =
        std::string(kPlaceholder) +
        "\n  schedules: [{name: up, start: '0 8 * * *', replicas: 4, timeZone: "
        "UTC}, {name: down, start: '0 20 * * *', replicas: 0, timeZone: UTC}]";
    Value object = pool_object(spec);
    const auto first = look(object, {}, {});
    EXPECT_EQ(first.desired.nodes, 4U);
    EXPECT_EQ(first.schedule.ticks.size(), 1U);
    document::append(object, "status", status_of(first, {}, object, kMorning));
    const Instant afternoon = at("2026-11-24T15:00:00Z");
    const auto later = look_at_pool(object, {}, {}, {}, afternoon);
    EXPECT_EQ(later.desired.nodes, 4U);
    EXPECT_TRUE(later.schedule.ticks.empty());
    // Without what it remembers the step of the morning would be too old.
    EXPECT_EQ(look_at_pool(pool_object(spec), {}, {}, {}, afternoon).desired.nodes, 0U);
}

}  // namespace
}  // namespace aliquot::pools
