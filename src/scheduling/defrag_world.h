// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "scheduling/books.h"

/// For tests of moves: nodes, and pods that hold GPUs of them as agents tell.
namespace aliquot::scheduling::moving {

inline constexpr char kWhole[] = "nvidia.com/gpu";
inline constexpr char kShare[] = "nvidia.com/gpu.shared";
inline constexpr char kMps[] = "nvidia.com/gpu.mps";
inline constexpr char kLongAgo[] = "2026-01-01T01:00:00Z";
inline constexpr char kJustNow[] = "2026-01-01T11:59:00Z";
inline constexpr char kLimit[] = "2026-01-01T11:50:00Z";

inline std::string uuid(const std::string& node, unsigned index) {
    return "GPU-" + node + "-" + std::to_string(index);
}

inline ServedNode node(const std::string& name, const std::string& resource, unsigned gpus,
                       unsigned units) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    made.labels["kubernetes.io/hostname"] = name;
    for (unsigned i = 0; i < gpus; ++i) made.gpus.push_back({uuid(name, i), {{resource, units}}});
    made.on_one_gpu = {kMps};
    return made;
}

inline GpuPod pod(const std::string& name, const std::string& resource, unsigned count) {
    return {.uid = name,
            .name_space = "team",
            .name = name,
            .owner = "owner-of-" + name,
            .bound_at = kLongAgo,
            .plan = "told by the node",
            .cpu_milli = 1000,
            .memory_mib = 1024,
            .devices = {{"main", resource, count}}};
}

inline k8s::PodTerm apart_from(const std::string& app) {
    return {.selector = k8s::LabelSelector{{.key = "app", .values = {app}}},
            .topology_key = "kubernetes.io/hostname"};
}

inline DisruptionBudget budget(const std::string& app, unsigned allowed) {
    const auto read = read_disruption_budget(R"({"metadata":{"namespace":"team","name":"b-)" + app +
                                             R"("},"spec":{"selector":{"matchLabels":{"app":")" +
                                             app + R"("}}},"status":{"disruptionsAllowed":)" +
                                             std::to_string(allowed) + "}}");
    EXPECT_TRUE(read);
    return *read;
}

struct World {
    void hold(GpuPod made, const std::string& where, const std::map<std::string, unsigned>& gpus) {
        made.node = where;
        nodes.at(where).granted[made.uid][made.devices.front().resource] = gpus;
        pods.push_back(std::move(made));
    }
    void add(ServedNode made) { nodes[made.name] = std::move(made); }
    [[nodiscard]] Books books() const {
        Books made;
        for (const auto& [name, one] : nodes) made.set_node(one);
        for (const GpuPod& one : pods) made.set_pod(one);
        for (const GpuPod& one : waiting) (void)made.decide(one);
        return made;
    }
    [[nodiscard]] DefragPlan plan() const {
        Books made = books();
        return made.plan_defrag(rules);
    }

    std::map<std::string, ServedNode> nodes;
    std::vector<GpuPod> pods;
    std::vector<GpuPod> waiting;
    MoveRules rules{.bound_before = kLimit};
};

inline std::vector<std::string> told(const DefragPlan& plan) {
    std::vector<std::string> lines;
    for (const PlannedMove& one : plan.moves) {
        std::string line = one.pod.name + ": " + one.from.node + " -> " + one.to.node;
        for (const auto& [resource, gpus] : one.to.units) {
            for (const auto& gpu : gpus) line += " " + gpu.first;
        }
        for (const std::string& gpu : one.opens) line += ", opens " + gpu;
        lines.push_back(line + (one.opens_node ? ", and the node" : ""));
    }
    return lines;
}

}  // namespace aliquot::scheduling::moving
