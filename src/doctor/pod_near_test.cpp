// SPDX-License-Identifier: Apache-2.0
//
// Which node a pod was meant for, and what of it keeps the pod waiting.
#include <gtest/gtest.h>

#include "doctor/test_clusters.h"

namespace aliquot::doctor {
namespace {

/// A node that the pod tolerates, and one for others that is lost as well.
std::vector<Machine> beside_foreign(Machine own) {
    own.taints = kTaint;
    return {{.name = "a-foreign",
             .taints = R"({"key":"team","value":"vision","effect":"NoSchedule"})",
             .ready = false},
            std::move(own)};
}

const std::string kTolerates =
    pod_json("waits", "", "Pending", R"("tolerations":[{"key":"dedicated","operator":"Exists"}],)");

TEST(PodCause, IsOfTheNodeThatThePodWasMeantFor) {
    const Machine mute{.name = "own",
                       .capacity = 0,
                       .allocatable = 0,
                       .labels = R"("nvidia.com/gpu.present":"true")"};
    EXPECT_EQ(cause_of(judge_pod(beside_foreign(mute), {kTolerates})), "NODE001");
    const Machine ill{.name = "own", .capacity = 4, .allocatable = 0};
    const Report report = judge_pod(beside_foreign(ill), {kTolerates});
    EXPECT_EQ(cause_of(report), "NODE002");
    EXPECT_NE(report.find("NODE002")->verdict.message.find("own"), std::string::npos);
}

TEST(PodCause, IsTheGpuThatIsIllWhereAPodAsksForAllOfANode) {
    std::string pod = kWaits;
    pod.replace(pod.find(R"("nvidia.com/gpu":"1")"), 20, R"("nvidia.com/gpu":"8")");
    const Report report = judge_pod({{.name = "b-other", .capacity = 2, .allocatable = 0},
                                     {.name = "own", .capacity = 8, .allocatable = 7}},
                                    {pod});
    EXPECT_EQ(cause_of(report), "NODE002");
    EXPECT_NE(report.find("NODE002")->verdict.message.find("own"), std::string::npos);
    EXPECT_EQ(cause_of(judge_pod({{.name = "own", .capacity = 4, .allocatable = 4}}, {pod})),
              "SCH005");
}

TEST(PodCause, SaysThatTheHolderIsBeingDeleted) {
    std::string holder = pod_json("holder", "m-own", "Running");
    const std::string name = R"("name":"holder",)";
    holder.replace(holder.find(name), name.size(),
                   name + R"("deletionTimestamp":"2026-11-20T08:00:00Z","finalizers":["x.io/y"],)");
    const Report report = judge_pod({{.name = "m-own"}}, {kWaits, holder});
    EXPECT_EQ(cause_of(report), "SCH001");
    const Verdict& verdict = report.find("SCH001")->verdict;
    EXPECT_NE(verdict.message.find("is being deleted"), std::string::npos) << verdict.message;
    EXPECT_NE(verdict.fixes.front().text.find("finalizers"), std::string::npos);
}

TEST(PodCause, IsACordonWithItsEnd) {
    std::string node = json_of({.name = "own"});
    const std::string spec = R"("spec":{)";
    node.replace(node.find(spec), spec.size(), spec + R"("unschedulable":true,)");
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", {node}));
    tree.add_text("k8s/pods.json", list_of("Pod", {kWaits}));
    const Report report = judge(facts_of(std::move(tree), {Target::Kind::kPod, "ml/waits"}));
    EXPECT_EQ(cause_of(report), "SCH006");
    EXPECT_EQ(report.find("SCH006")->verdict.fixes.front().text, "kubectl uncordon own");
}

TEST(PodCause, NamesTheLongerProductOfSharedGpus) {
    const Machine shared{.name = "own", .labels = R"("nvidia.com/gpu.product":"Tesla-T4-SHARED")"};
    const Report report =
        judge_pod({shared}, {pod_json("waits", "", "Pending",
                                      R"("nodeSelector":{"nvidia.com/gpu.product":"Tesla-T4"},)")});
    EXPECT_EQ(cause_of(report), "SCH007");
    EXPECT_EQ(report.find("SCH007")->verdict.fixes.front().text,
              "nodeSelector: {nvidia.com/gpu.product: Tesla-T4-SHARED}");
}

/// A rule for neighbours keeps it off the one node that would take it; another is lost.
TEST(PodCause, IsTheRuleThatTheSchedulerNames) {
    std::string pod = kWaits;
    const std::string phase = R"("phase":"Pending")";
    pod.replace(pod.find(phase), phase.size(),
                phase + R"(,"conditions":[{"type":"PodScheduled","status":"False","reason":)"
                        R"("Unschedulable","message":"0/2 nodes are available: 1 node(s) didn't )"
                        R"(match pod anti-affinity rules, 1 node(s) had untolerated taint."}])");
    const Machine lost{.name = "a-lost", .ready = false};
    EXPECT_EQ(cause_of(judge_pod({lost, {.name = "own"}}, {pod})), "SCH010");
    // Where no node would take it, what the nodes lack is the cause.
    EXPECT_EQ(cause_of(judge_pod({{.name = "own", .taints = kTaint}}, {pod})), "SCH006");
}

TEST(PodCause, IsTheMigDeviceWhereNodesAreCut) {
    std::string node = json_of({.name = "own", .capacity = 0, .allocatable = 0, .taints = kTaint});
    for (const char* const list : {R"("capacity":{)", R"("allocatable":{)"}) {
        node.replace(node.find(list), std::string_view(list).size(),
                     std::string(list) + R"("nvidia.com/mig-1g.10gb":"7",)");
    }
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", {json_of(beside_foreign({}).front()), node}));
    tree.add_text("k8s/pods.json", list_of("Pod", {kTolerates}));
    const Report report = judge(facts_of(std::move(tree), {Target::Kind::kPod, "ml/waits"}));
    EXPECT_EQ(cause_of(report), "SCH002");
    EXPECT_EQ(report.find("SCH002")->verdict.fixes.front().text,
              "resources.limits: {nvidia.com/mig-1g.10gb: 1}");
}

/// Several tolerations of one key, for clouds that give it several values: one of them fits.
TEST(PodCause, IsNoTolerationWhereAnotherFits) {
    const Machine own{
        .name = "own",
        .taints = R"({"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"})"};
    const std::string pod = pod_json(
        "waits", "", "Pending",
        R"("tolerations":[{"key":"nvidia.com/gpu","value":"true"},{"key":"nvidia.com/gpu","value":"present"}],)");
    EXPECT_EQ(cause_of(judge_pod({own}, {pod, pod_json("holder", "own", "Running")})), "SCH001");
    const std::string wrong = pod_json(
        "waits", "", "Pending", R"("tolerations":[{"key":"nvidia.com/gpu","value":"true"}],)");
    const Report report = judge_pod({own}, {wrong});
    EXPECT_EQ(report.find("NODE005")->verdict.outcome, Outcome::kFailed);
}

/// An event still speaks of a pod that is gone; no node can be its cause.
TEST(PodCause, OfAPodThatIsGoneIsNoNode) {
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", {json_of({.name = "lost", .ready = false})}));
    tree.add_text("k8s/pods.json", list_of("Pod", {pod_json("other", "lost", "Running")}));
    tree.add_text("k8s/events.json",
                  R"({"kind":"EventList","items":[{"kind":"Event","metadata":{"name":"e"},)"
                  R"("reason":"Killing","message":"Stopping container main",)"
                  R"("involvedObject":{"kind":"Pod","namespace":"ml","name":"gone"}}]})");
    const Report report = judge(facts_of(std::move(tree), {Target::Kind::kPod, "ml/gone"}));
    EXPECT_EQ(cause_of(report), "");
}

}  // namespace
}  // namespace aliquot::doctor
