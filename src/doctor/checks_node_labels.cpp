// SPDX-License-Identifier: Apache-2.0
// Labels and taints of nodes, and whom they mislead.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "catalog/gpu_models.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "k8s/pod.h"

namespace aliquot::doctor {
namespace {

std::vector<const Object*> waiting_for_gpus(const Facts& facts) {
    std::vector<const Object*> pods;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (phase_of(pod) == "Pending" && !gpu_requests(pod).empty()) pods.push_back(&pod);
    }
    return pods;
}

Verdict judge_taint_values(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    const auto waiting = waiting_for_gpus(facts);
    for (const Object* const node : nodes) {
        for (const Value& taint : items_at(node->body, {"spec", "taints"})) {
            const std::string key = text_at(taint, {"key"});
            const std::string value = text_at(taint, {"value"});
            const bool gpu = key.contains("gpu") || key.contains("nvidia");
            if (!gpu || text_at(taint, {"effect"}) == "PreferNoSchedule") continue;
            for (const Object* const pod : waiting) {
                if (k8s::tolerates(
                        k8s::read_pod(pod->body).tolerations,
                        {.key = key, .value = value, .effect = text_at(taint, {"effect"})})) {
                    continue;  // by another of its tolerations
                }
                for (const Value& one : items_at(pod->body, {"spec", "tolerations"})) {
                    const std::string own = text_at(one, {"value"});
                    const bool exists = text_at(one, {"operator"}) == "Exists";
                    if (text_at(one, {"key"}) != key || exists || own == value) continue;
                    auto verdict =
                        failed(concat({"Taint ", key, " of node ", node->name, " has the value `",
                                       value, "`, pod ", pod->id(), " tolerates `", own, "`."}));
                    verdict.because(
                        Location{node->path, taint.mark.line, concat({key, "=", value})},
                        concat({key, "=", own}));
                    verdict.because(Location{pod->path, one.mark.line, "value: " + own}, value);
                    verdict.edit("tolerations: [{key: " + key + ", operator: Exists}]",
                                 Risk::kRestartPods);
                    return verdict;
                }
            }
        }
    }
    return ok("taints and tolerations have the same values");
}

Verdict judge_labels(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    for (const Object* const node : nodes) {
        std::string real = label(*node, "nvidia.com/gpu.product");
        std::string where = node->path;
        if (facts.nvml.state == NvmlFacts::State::kOk && !facts.nvml.gpus.empty() &&
            nodes.size() == 1 && is_this_host(facts, *node)) {
            real = facts.nvml.gpus[0].name;
            where = facts.nvml.place.path;
        }
        if (real.empty()) continue;
        for (const auto& [name, value] : labels_of(*node)) {
            const bool hand_made =
                name == "accelerator" || name == "gpu-type" || name == "gpu.type" ||
                name == "gpu-model" || name == "hardware-type" ||
                name == "cloud.google.com/gke-accelerator" || name == "nvidia.com/gpu.product";
            if (!hand_made) continue;
            const auto* const said = catalog::find_gpu_model(value);
            const auto* const is = catalog::find_gpu_model(real);
            if (said == nullptr || is == nullptr || said == is) continue;
            // "a100" means the 40 GB one, but is not wrong on the other.
            if (said->architecture == is->architecture && said->compute == is->compute &&
                said->key.substr(0, said->key.find('-')) == is->key.substr(0, is->key.find('-'))) {
                continue;
            }
            auto verdict = warning(concat({"Label ", name, "=", value, " of node ", node->name,
                                           " says another GPU than there is: ", real, "."}));
            verdict.because(Evidence{.path = node->path,
                                     .value = concat({name, "=", value}),
                                     .expected = std::string(is->key)});
            verdict.because(Evidence{.path = where, .value = real});
            verdict.fix(concat(
                {"kubectl label node ", node->name, " ", name, "=", is->key, " --overwrite"}));
            return verdict;
        }
    }
    return ok("labels tell the GPU that there is");
}

Verdict judge_discovery(const Facts& facts) {
    const auto& sets = facts.cluster.all("DaemonSet");
    const bool nfd = std::ranges::any_of(sets, [](const Object& one) {
        return one.name.contains("node-feature-discovery-worker") ||
               one.name.contains("nfd-worker");
    });
    if (!nfd) return not_here("no node feature discovery");
    for (const Object* const node : nodes_of(facts)) {
        const bool gpu = !gpu_resources(*node).empty() ||
                         label(*node, "nvidia.com/gpu.present") == "true" ||
                         (nodes_of(facts).size() == 1 && !facts.host.pci_gpus().empty());
        const auto labels = labels_of(*node);
        const bool labelled = std::ranges::any_of(labels, [](const auto& one) {
            return one.first.starts_with("feature.node.kubernetes.io/");
        });
        const bool worker = std::ranges::any_of(facts.cluster.all("Pod"), [&](const Object& pod) {
            return (pod.name.contains("node-feature-discovery-worker") ||
                    pod.name.contains("nfd-worker")) &&
                   node_of(pod) == node->name;
        });
        if (!gpu || labelled || worker) continue;
        auto verdict = warning("Node feature discovery does not run on " + node->name +
                               ": the node has no hardware labels.");
        verdict.because(Evidence{.path = node->path,
                                 .value = "no label feature.node.kubernetes.io/*",
                                 .expected = "feature.node.kubernetes.io/pci-10de.present=true"});
        std::vector<std::string> taints;
        for (const Value& taint : items_at(node->body, {"spec", "taints"})) {
            taints.push_back(text_at(taint, {"key"}));
        }
        verdict.fix(
            "helm upgrade nfd node-feature-discovery/node-feature-discovery --reuse-values --set "
            "'worker.tolerations[0].operator=Exists'",
            Risk::kRestartPods);
        if (!taints.empty()) verdict.note("Its taints: " + join(taints));
        return verdict;
    }
    return ok("every GPU node has its hardware labels");
}

constexpr Check kNodeLabelChecks[] = {
    {"NODE005", Level::kNode, false, "", judge_taint_values},
    {"NODE006", Level::kNode, false, "", judge_labels},
    {"NODE008", Level::kNode, false, "", judge_discovery},
};

}  // namespace

std::span<const Check> node_label_checks() { return kNodeLabelChecks; }

}  // namespace aliquot::doctor
