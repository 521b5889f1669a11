// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bundle/tree.h"
#include "doctor/judge.h"

/// Small clusters for tests of what is said of one pod.
namespace aliquot::doctor {

/// A node of a snapshot.
struct Machine {
    std::string name;
    unsigned capacity = 1;
    unsigned allocatable = 1;
    std::string labels;  // JSON members
    std::string taints;  // JSON objects
    bool ready = true;
};

inline std::string json_of(const Machine& node) {
    return R"({"kind":"Node","metadata":{"name":")" + node.name + R"(","labels":{)" + node.labels +
           R"(}},"spec":{"taints":[)" + node.taints +
           R"(]},"status":{"capacity":{"nvidia.com/gpu":")" + std::to_string(node.capacity) +
           R"(","cpu":"8","memory":"32Gi","pods":"110"},"allocatable":{"nvidia.com/gpu":")" +
           std::to_string(node.allocatable) +
           R"(","cpu":"8","memory":"32Gi","pods":"110"},"conditions":[{"type":"Ready","status":")" +
           (node.ready ? "True" : "False") + R"("}]}})";
}

inline std::string pod_json(const std::string& name, const std::string& node,
                            const std::string& phase, const std::string& spec = "") {
    return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"ml"},"spec":{)" +
           spec + (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
           R"("containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)" +
           R"("status":{"phase":")" + phase + R"("}})";
}

inline std::string list_of(const std::string& kind, const std::vector<std::string>& items) {
    std::string text = R"({"kind":")" + kind + R"(List","items":[)";
    for (const std::string& item : items) {
        if (&item != &items.front()) text += ",\n";
        text += item;
    }
    return text + "]}";
}

inline Report judge_pod(const std::vector<Machine>& nodes, const std::vector<std::string>& pods,
                        const std::string& name = "ml/waits") {
    std::vector<std::string> items;
    for (const Machine& node : nodes) items.push_back(json_of(node));
    bundle::Tree tree;
    tree.add_text("k8s/nodes.json", list_of("Node", items));
    tree.add_text("k8s/pods.json", list_of("Pod", pods));
    return judge(facts_of(std::move(tree), {Target::Kind::kPod, name}));
}

inline std::string cause_of(const Report& report) {
    return report.root_causes.empty() ? "" : report.root_causes.front();
}

inline const std::string kTaint = R"({"key":"dedicated","value":"ml","effect":"NoSchedule"})";
inline const std::string kWaits = pod_json("waits", "", "Pending");

}  // namespace aliquot::doctor
