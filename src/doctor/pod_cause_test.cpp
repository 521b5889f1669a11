// SPDX-License-Identifier: Apache-2.0
//
// What doctor says of one pod in clusters in which other things are wrong too.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "doctor/fit.h"
#include "doctor/judge.h"
#include "doctor/test_clusters.h"

namespace aliquot::doctor {
namespace {

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

/// What runs, fails and is said on the faulty machines.
struct Noise {
    std::vector<std::string> pods, events, daemon_sets, policies;
    std::vector<std::pair<std::string, std::string>> logs;
};

/// A pod that is not well, of a DaemonSet or of somebody else.
std::string ill_pod(const std::string& space, const std::string& name, const std::string& node,
                    const std::string& waiting, bool of_daemon_set) {
    const std::string owner =
        of_daemon_set
            ? R"(,"ownerReferences":[{"kind":"DaemonSet","name":"nvidia-device-plugin-daemonset"}])"
            : "";
    return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":")" + space + "\"" +
           owner + R"(},"spec":{"nodeName":")" + node +
           R"(","containers":[{"name":"main","image":"x:1","resources":{"limits":{)" +
           (of_daemon_set ? "" : R"("nvidia.com/gpu":"1")") +
           R"(}}}]},"status":{"phase":"Pending","containerStatuses":[{"name":"main","restartCount":9,)" +
           R"("state":{"waiting":{"reason":")" + waiting +
           R"(","message":"it fails"}},"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}})";
}

std::string event_json(const std::string& space, const std::string& pod, const std::string& reason,
                       const std::string& message) {
    return R"({"kind":"Event","metadata":{"name":"e","namespace":")" + space +
           R"("},"type":"Warning","reason":")" + reason + R"(","message":")" + message +
           R"(","involvedObject":{"kind":"Pod","namespace":")" + space + R"(","name":")" + pod +
           R"("}})";
}

Noise noise_on(const std::vector<Machine>& nodes, std::mt19937& random) {
    Noise noise;
    unsigned ill = 0;
    for (const Machine& node : nodes) {
        if (node.name == "m-own") continue;
        const std::string plugin = "nvidia-device-plugin-daemonset-" + node.name;
        const std::string other = "other-" + node.name;
        const std::string log = plugin + "/nvidia-device-plugin-ctr.log";
        switch (random() % 4) {
            case 0:
                noise.pods.push_back(
                    ill_pod("kube-system", plugin, node.name, "CrashLoopBackOff", true));
                noise.logs.emplace_back("logs/kube-system/" + log,
                                        "Failed to initialize NVML: could not load NVML library.\n"
                                        "If this is a GPU node, did you configure the NVIDIA "
                                        "Container Toolkit?\n");
                ++ill;
                break;
            case 1:
                noise.pods.push_back(ill_pod("other", other, node.name, "ImagePullBackOff", false));
                noise.events.push_back(
                    event_json("other", other, "Failed", "Failed to pull image x:1: not found"));
                break;
            case 2:
                noise.pods.push_back(
                    ill_pod("other", other, node.name, "CreateContainerError", false));
                noise.events.push_back(event_json(
                    "other", other, "FailedCreatePodSandBox",
                    "failed to get sandbox runtime: no runtime for \\\"nvidia\\\" is configured"));
                noise.logs.emplace_back("logs/other/" + other + "/main.log",
                                        "RuntimeError: CUDA error: out of memory\n");
                break;
            default:
                noise.pods.push_back(ill_pod("other", other, "", "", false));
                noise.events.push_back(event_json("other", other, "FailedScheduling",
                                                  "0/9 nodes are available: 9 Insufficient "
                                                  "nvidia.com/gpu."));
        }
    }
    noise.policies.push_back(
        R"({"kind":"ClusterPolicy","metadata":{"name":"cluster-policy"},"status":{"state":")" +
        std::string(ill > 0 ? "notReady" : "ready") +
        R"(","conditions":[{"type":"Ready","status":")" + (ill > 0 ? "False" : "True") +
        R"(","reason":"OperandNotReady","message":"states not ready: [state-device-plugin]"}]}})");
    const auto count = std::to_string(nodes.size());
    noise.daemon_sets.push_back(
        R"({"kind":"DaemonSet","metadata":{"name":"nvidia-device-plugin-daemonset","namespace":"kube-system"},)"
        R"("spec":{"template":{"spec":{"containers":[{"name":"nvidia-device-plugin-ctr","image":"nvcr.io/nvidia/k8s-device-plugin:v0.18.0"}]}}},)"
        R"("status":{"desiredNumberScheduled":)" +
        count + R"(,"currentNumberScheduled":)" + count + R"(,"numberReady":)" +
        std::to_string(nodes.size() - ill) + R"(,"numberUnavailable":)" + std::to_string(ill) +
        "}}");
    return noise;
}

Report judge_beside(const std::vector<Machine>& nodes, std::vector<std::string> pods,
                    const Noise& noise) {
    std::vector<std::string> items;
    for (const Machine& node : nodes) items.push_back(json_of(node));
    pods.insert(pods.end(), noise.pods.begin(), noise.pods.end());
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", items));
    tree.add_text("k8s/pods.json", list_of("Pod", pods));
    tree.add_text("k8s/events.json", list_of("Event", noise.events));
    tree.add_text("k8s/daemonsets.json", list_of("DaemonSet", noise.daemon_sets));
    tree.add_text("k8s/clusterpolicies.json", list_of("ClusterPolicy", noise.policies));
    for (const auto& [path, text] : noise.logs) tree.add_text(path, text);
    return judge(facts_of(std::move(tree), {Target::Kind::kPod, "ml/waits"}));
}

TEST(PodCause, IsTheSameWhateverRunsAndFailsOnOtherNodes) {
    std::mt19937 random(11);
    for (unsigned round = 0; round < 1000; ++round) {
        Machine own{.name = "m-own"};
        std::vector<std::string> pods;
        switch (random() % 5) {
            case 0:
                own.taints = kTaint;
                pods.push_back(kWaits);
                break;
            case 1:
                pods.push_back(pod_json("holder", "m-own", "Running"));
                pods.push_back(kWaits);
                break;
            case 2:
                pods.push_back(pod_json("waits", "", "Pending", R"("nodeSelector":{"pool":"x"},)"));
                break;
            case 3:
                pods.push_back(pod_json("waits", "m-own", "Running"));
                break;
            default:
                pods.push_back(ill_pod("ml", "waits", "m-own", "ImagePullBackOff", false));
        }
        const std::vector<Machine> alone{own};
        const std::string cause = cause_of(judge_beside(alone, pods, noise_on(alone, random)));
        std::vector<Machine> nodes{own};
        const unsigned more = 1 + static_cast<unsigned>(random() % 4);
        for (unsigned i = 0; i < more; ++i) {
            nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(random() % (nodes.size() + 1)),
                         faulty(random, i));
        }
        const Report report = judge_beside(nodes, pods, noise_on(nodes, random));
        EXPECT_EQ(cause_of(report), cause)
            << "round " << round << ", " << nodes.size() << " nodes; first " << nodes[0].name;
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace aliquot::doctor
