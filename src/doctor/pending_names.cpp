// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/nearest_word.h"
#include "base/text.h"
#include "doctor/pending.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

std::string count_text(double count) { return std::to_string(static_cast<long>(count)); }

double amount_of(const Object& node, std::string_view list, std::string_view name) {
    return k8s::quantity_value(text_at(node.body, {"status", list, name})).value_or(0);
}

/// The nodes that the pod was meant for, where those fail it; else all.
std::vector<const Object*> nodes_in_question(const std::vector<NodeFit>& nodes, const Object& pod) {
    auto chosen = meant_nodes(nodes, pod);
    if (!chosen.empty()) return chosen;
    for (const NodeFit& one : nodes) chosen.push_back(one.node);
    return chosen;
}

std::map<std::string, double> offered(const std::vector<const Object*>& nodes) {
    std::map<std::string, double> most;
    for (const Object* const node : nodes) {
        for (const Value::Entry& entry : entries_at(node->body, {"status", "allocatable"})) {
            if (!k8s::is_nvidia_gpu(entry.first.scalar)) continue;
            double& one = most[entry.first.scalar];
            one = std::max(one, k8s::quantity_value(entry.second.scalar).value_or(0));
        }
    }
    std::erase_if(most, [](const auto& one) { return one.second <= 0; });
    return most;
}

PendingCause unknown_to_autoscaler(const Said& said, const Object& pod, const std::string& name) {
    auto made = pending_cause("SCH015", pod,
                              "no node has a GPU now, and the autoscaler does not know that a "
                              "new node would bring one.");
    made.verdict.because(Evidence{.path = said.path, .line = said.line, .value = said.text});
    made.verdict.note("Tag the node group: k8s.io/cluster-autoscaler/node-template/resources/" +
                      name + " = 1 (and its labels and taints).");
    return made;
}

/// The name that was meant; empty: cannot be told.
struct NearName {
    std::string name;
    bool misspelt = false;
};

NearName near_name(const std::string& name, const std::map<std::string, double>& most) {
    constexpr std::array<std::string_view, 5> kTypos{"nvidia/gpu", "nvidia.com/gpus",
                                                     "alpha.kubernetes.io/nvidia-gpu",
                                                     "nvidia.com/GPU", "nvidia.com/vgpu"};
    if (most.contains(name + ".shared")) return {name + ".shared", true};
    if (name.ends_with(".shared") && most.contains(name.substr(0, name.rfind('.')))) {
        return {name.substr(0, name.rfind('.')), false};
    }
    if (std::ranges::find(kTypos, name) != kTypos.end()) return {"nvidia.com/gpu", true};
    // A whole GPU on nodes that are cut into MIG devices: one of these.
    const bool cut =
        name == "nvidia.com/gpu" && !most.empty() && std::ranges::all_of(most, [](const auto& one) {
            return one.first.starts_with("nvidia.com/mig-");
        });
    if (cut) return {most.begin()->first, false};
    std::vector<std::string_view> known;
    for (const auto& [one, amount] : most) known.push_back(one);
    std::string near(nearest_word(name, known));
    const bool misspelt = !near.empty() && !name.contains("mig-");
    return {std::move(near), misspelt};
}

std::string_view advice_on(const std::string& name, const NearName& near) {
    if (name.contains("mig-")) {
        return "MIG names exist only with the strategy mixed and instances of that profile.";
    }
    if (near.name.contains("mig-")) {
        return "Under the MIG strategy mixed a node offers its MIG devices by their names, and "
               "whole "
               "GPUs only where MIG is off: ask for a MIG device, or give the node another "
               "nvidia.com/mig.config.";
    }
    return "Names are exact: nvidia.com/gpu; nvidia.com/gpu.shared with renameByDefault.";
}

PendingCause not_offered(const Object& pod, const std::string& name, double count,
                         const std::map<std::string, double>& most, bool of_meant) {
    std::vector<std::string> list;
    for (const auto& [one, amount] : most) list.push_back(one);
    const NearName near = near_name(name, most);
    auto made = pending_cause(
        near.misspelt ? "SCH003" : "SCH002", pod,
        concat({of_meant ? "no node that lets it in offers `" : "no node offers `", name,
                "`. Offered: ", list.empty() ? std::string("no GPU at all") : join(list), ".",
                near.name.empty() ? "" : " Did you mean `" + near.name + "`?"}));
    made.verdict.because(of_pod(pod, name + ": " + count_text(count),
                                list.empty() ? "a resource that some node offers" : join(list)));
    if (!near.name.empty()) {
        made.verdict.edit("resources.limits: {" + near.name + ": " + count_text(count) + "}",
                          Risk::kRestartPods);
    }
    made.verdict.note(std::string(advice_on(name, near)));
    return made;
}

}  // namespace

PendingCause why_unknown_name(const Facts& facts, const Object& pod,
                              const std::vector<NodeFit>& all) {
    const auto nodes = nodes_in_question(all, pod);
    const bool of_meant = nodes.size() < all.size();
    const auto most = offered(nodes);
    for (const auto& [name, count] : gpu_requests(pod)) {
        if (most.contains(name)) continue;
        // The name is right: the node has such GPUs, and none of them is well.
        if (std::ranges::any_of(nodes, [&, &name = name](const Object* node) {
                return amount_of(*node, "capacity", name) > 0;
            })) {
            return {"NODE002", {}};
        }
        if (const Said* const scaler = said_of(
                facts, pod, {"didn't trigger scale-up", "NotTriggerScaleUp", "TriggeredScaleUp"});
            scaler != nullptr && most.empty()) {
            return unknown_to_autoscaler(*scaler, pod, name);
        }
        // The node was meant to offer it, and offers nothing.
        if (most.empty() && name == "nvidia.com/gpu" &&
            std::ranges::any_of(nodes, [](const Object* node) { return is_gpu_node(*node); })) {
            return {"NODE001", {}};
        }
        return not_offered(pod, name, count, most, of_meant);
    }
    return {};
}

PendingCause why_too_many(const Object& pod, const std::vector<NodeFit>& nodes) {
    const auto most = offered(nodes_in_question(nodes, pod));
    for (const auto& [name, count] : gpu_requests(pod)) {
        const auto found = most.find(name);
        if (found == most.end() || count <= found->second) continue;
        // As many are built in, some of them are not well.
        if (std::ranges::any_of(nodes,
                                [](const NodeFit& one) { return one.has_gpus && one.lets_in(); })) {
            return {"NODE002", {}};
        }
        auto made = pending_cause("SCH005", pod,
                                  count_text(count) + " " + name + " asked; the largest node has " +
                                      count_text(found->second) + ".");
        made.verdict.because(
            of_pod(pod, name + ": " + count_text(count), count_text(found->second) + " at most"));
        made.verdict.note(
            "A pod lives on one node: ask for less, split the job over several pods, or add a "
            "larger node.");
        return made;
    }
    return {};
}

}  // namespace aliquot::doctor
