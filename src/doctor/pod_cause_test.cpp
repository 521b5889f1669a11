// SPDX-License-Identifier: Apache-2.0
//
// What doctor says of one pod in clusters in which other things are wrong too.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "bundle/tree.h"
#include "doctor/fit.h"
#include "doctor/judge.h"

namespace aliquot::doctor {
namespace {

/// A node of a snapshot.
struct Machine {
    std::string name;
    unsigned capacity = 1;
    unsigned allocatable = 1;
    std::string labels;  // JSON members
    std::string taints;  // JSON objects
    bool ready = true;
};

std::string json_of(const Machine& node) {
    return R"({"kind":"Node","metadata":{"name":")" + node.name + R"(","labels":{)" + node.labels +
           R"(}},"spec":{"taints":[)" + node.taints +
           R"(]},"status":{"capacity":{"nvidia.com/gpu":")" + std::to_string(node.capacity) +
           R"(","cpu":"8","memory":"32Gi","pods":"110"},"allocatable":{"nvidia.com/gpu":")" +
           std::to_string(node.allocatable) +
           R"(","cpu":"8","memory":"32Gi","pods":"110"},"conditions":[{"type":"Ready","status":")" +
           (node.ready ? "True" : "False") + R"("}]}})";
}

std::string pod_json(const std::string& name, const std::string& node, const std::string& phase,
                     const std::string& spec = "") {
    return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"ml"},"spec":{)" +
           spec + (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
           R"("containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)" +
           R"("status":{"phase":")" + phase + R"("}})";
}

std::string list_of(const std::string& kind, const std::vector<std::string>& items) {
    std::string text = R"({"kind":")" + kind + R"(List","items":[)";
    for (const std::string& item : items) {
        if (&item != &items.front()) text += ",\n";
        text += item;
    }
    return text + "]}";
}

Report judge_pod(const std::vector<Machine>& nodes, const std::vector<std::string>& pods,
                 const std::string& name = "ml/waits") {
    std::vector<std::string> items;
    for (const Machine& node : nodes) items.push_back(json_of(node));
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", items));
    tree.add_text("k8s/pods.json", list_of("Pod", pods));
    return judge(facts_of(std::move(tree), {Target::Kind::kPod, name}));
}

std::string cause_of(const Report& report) {
    return report.root_causes.empty() ? "" : report.root_causes.front();
}

const std::string kTaint = R"({"key":"dedicated","value":"ml","effect":"NoSchedule"})";
const std::string kWaits = pod_json("waits", "", "Pending");

TEST(PodCause, IsATaintWhateverElseIsWrongElsewhere) {
    const Machine tainted{.name = "g1", .taints = kTaint};
    EXPECT_EQ(cause_of(judge_pod({tainted}, {kWaits})), "SCH006");
    const Machine lost{.name = "g2", .ready = false};
    EXPECT_EQ(cause_of(judge_pod({tainted, lost}, {kWaits})), "SCH006");
    EXPECT_EQ(cause_of(judge_pod({lost, tainted}, {kWaits})), "SCH006");
    const Machine uncut{.name = "g3",
                        .labels = R"("nvidia.com/mig.config":"all-1g.10gb",)"
                                  R"("nvidia.com/mig.config.state":"failed")",
                        .taints = kTaint};
    EXPECT_EQ(cause_of(judge_pod({uncut, tainted}, {kWaits})), "SCH006");
}

TEST(PodCause, IsTheHeldGpuOfTheNodeThatWasAskedFor) {
    const std::string pod = pod_json("waits", "", "Pending",
                                     R"("nodeSelector":{"nvidia.com/gpu.product":"Tesla-T4"},)");
    const Machine t4{.name = "t4", .labels = R"("nvidia.com/gpu.product":"Tesla-T4")"};
    const Machine a100{.name = "a100", .labels = R"("nvidia.com/gpu.product":"NVIDIA-A100")"};
    for (const auto& nodes : {std::vector{t4, a100}, std::vector{a100, t4}}) {
        const Report report = judge_pod(nodes, {pod, pod_json("holder", "t4", "Running")});
        EXPECT_EQ(cause_of(report), "SCH001");
        EXPECT_NE(report.find("SCH001")->verdict.message.find("ml/holder"), std::string::npos);
    }
}

TEST(PodCause, NeverAsksForALieInALabelOfTheHardware) {
    const Machine a100{.name = "a100", .labels = R"("nvidia.com/gpu.product":"NVIDIA-A100")"};
    for (const char* const label :
         {R"("nvidia.com/gpu.product":"Tesla-T4")", R"("node.kubernetes.io/instance-type":"p3")",
          R"("gpu-type":"t4")", R"("accelerator":"nvidia-tesla-t4")"}) {
        const Report report = judge_pod(
            {a100},
            {pod_json("waits", "", "Pending", R"("nodeSelector":{)" + std::string(label) + "},")});
        EXPECT_EQ(cause_of(report), "SCH007") << label;
        for (const Fix& fix : report.find("SCH007")->verdict.fixes) {
            EXPECT_EQ(fix.text.find("kubectl label"), std::string::npos) << fix.text;
        }
    }
}

TEST(PodCause, IsTheUnhealthyGpuAndNotTheNameOfTheResource) {
    const Report report = judge_pod({{.name = "g1", .capacity = 1, .allocatable = 0}}, {kWaits});
    EXPECT_EQ(cause_of(report), "NODE002");
}

TEST(PodCause, IsTheNodeThatIsNotReadyWhereThereIsNoOther) {
    EXPECT_EQ(cause_of(judge_pod({{.name = "g1", .ready = false}}, {kWaits})), "NODE007");
}

TEST(PodCause, IsNoneForAPodThatRunsWhereAllIsWell) {
    const std::string runs = pod_json("runs", "g1", "Running");
    const Report report = judge_pod({{.name = "g1"},
                                     {.name = "g2", .ready = false},
                                     {.name = "g3", .capacity = 8, .allocatable = 2}},
                                    {runs}, "ml/runs");
    EXPECT_TRUE(report.root_causes.empty()) << cause_of(report);
    EXPECT_EQ(report.count(Outcome::kFailed), 0U);
}

/// Faulty machines that have nothing to do with the pod.
Machine faulty(std::mt19937& random, unsigned number) {
    Machine node{.name = std::string(1, static_cast<char>('a' + random() % 26)) + "-bad-" +
                         std::to_string(number)};
    switch (random() % 5) {
        case 0:
            node.ready = false;
            break;
        case 1:
            node.labels = R"("nvidia.com/mig.config":"x","nvidia.com/mig.config.state":"failed")";
            node.taints = R"({"key":"node.kubernetes.io/disk-pressure","effect":"NoSchedule"})";
            break;
        case 2:
            node.capacity = 4;
            node.allocatable = 0;
            break;
        case 3:
            node.capacity = 0;
            node.allocatable = 0;
            node.labels = R"("nvidia.com/gpu.present":"true")";
            break;
        default:
            node.ready = false;
            node.taints = kTaint;
    }
    return node;
}

TEST(PodCause, IsTheSameInAClusterWithMoreFaultyNodes) {
    std::mt19937 random(7);  // the same clusters in every run
    for (unsigned round = 0; round < 1000; ++round) {
        Machine own{.name = "m-own"};
        std::string spec;
        std::vector<std::string> pods;
        switch (random() % 4) {
            case 0:
                own.taints = kTaint;
                break;
            case 1:
                pods.push_back(pod_json("holder", "m-own", "Running"));
                break;
            case 2:
                spec = R"("nodeSelector":{"pool":"x"},)";
                break;
            default:
                spec = R"("nodeSelector":{"pool":"y"},)";
                own.labels = R"("pool":"y")";
                own.taints = kTaint;
        }
        pods.push_back(pod_json("waits", "", "Pending", spec));
        const std::string alone = cause_of(judge_pod({own}, pods));
        ASSERT_FALSE(alone.empty());
        std::vector<Machine> nodes{own};
        const unsigned more = 1 + static_cast<unsigned>(random() % 4);
        for (unsigned i = 0; i < more; ++i) {
            nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(random() % (nodes.size() + 1)),
                         faulty(random, i));
        }
        const Report report = judge_pod(nodes, pods);
        ASSERT_EQ(cause_of(report), alone)
            << "round " << round << ", " << nodes.size() << " nodes; first " << nodes[0].name;
    }
}

}  // namespace
}  // namespace aliquot::doctor
