// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/nearest_word.h"
#include "base/text.h"
#include "doctor/fit.h"
#include "doctor/text.h"
#include "doctor/unallocated.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

using Miss = NodeFit::Miss;

PendingCause cause(std::string id, const Object& pod, std::string message) {
    PendingCause made{std::move(id), failed("Pod " + pod.id() + ": " + std::move(message))};
    return made;
}

Evidence of_pod(const Object& pod, std::string value, std::string expected = {}) {
    return {.path = pod.path, .value = std::move(value), .expected = std::move(expected)};
}

const Said* said_of(const Facts& facts, const Object& pod,
                    std::initializer_list<std::string_view> parts) {
    for (const Said& said : facts.cluster.said) {
        if (said.pod != pod.id()) continue;
        for (const std::string_view part : parts) {
            if (contains_folded(said.text, part)) return &said;
        }
    }
    return nullptr;
}

std::map<std::string, double> offered(const Facts& facts) {
    std::map<std::string, double> most;
    for (const Object& node : facts.cluster.all("Node")) {
        for (const Value::Entry& entry : entries_at(node.body, {"status", "allocatable"})) {
            if (!k8s::is_nvidia_gpu(entry.first.scalar)) continue;
            double& one = most[entry.first.scalar];
            one = std::max(one, k8s::quantity_value(entry.second.scalar).value_or(0));
        }
    }
    std::erase_if(most, [](const auto& one) { return one.second <= 0; });
    return most;
}

bool has_in_capacity(const Facts& facts, const std::string& name) {
    return std::ranges::any_of(facts.cluster.all("Node"), [&](const Object& node) {
        return k8s::quantity_value(text_at(node.body, {"status", "capacity", name})).value_or(0) >
               0;
    });
}

std::string count_text(double count) { return std::to_string(static_cast<long>(count)); }

PendingCause gated(const Object& pod) {
    const auto& gates = items_at(pod.body, {"spec", "schedulingGates"});
    if (gates.empty()) return {};
    const std::string gate = text_at(gates[0], {"name"});
    auto made = cause("SCH014", pod, "held back by the scheduling gate " + gate + ".");
    made.verdict.because(Location{pod.path, gates[0].mark.line, "schedulingGates: " + gate},
                         "no gate");
    made.verdict.fix(gate.contains("kueue")
                         ? "kubectl get workloads -n " + pod.space
                         : "kubectl -n " + pod.space + " describe pod " + pod.name);
    made.verdict.note(
        "Whoever set the gate (a queue such as Kueue) must open it: look at its quota.");
    return made;
}

PendingCause other_scheduler(const Facts& facts, const Object& pod) {
    const std::string name = text_at(pod.body, {"spec", "schedulerName"});
    if (name.empty() || name == "default-scheduler") return {};
    const bool runs = std::ranges::any_of(facts.cluster.all("Pod"), [&](const Object& one) {
        return one.name.contains(name) && phase_of(one) == "Running";
    });
    if (runs) return {};
    auto made = cause("SCH014", pod, "names the scheduler " + name + ", of which no pod runs.");
    made.verdict.because(of_pod(pod, "schedulerName: " + name, "a scheduler that runs"));
    made.verdict.fix("kubectl get pods -A | grep -i scheduler");
    return made;
}

PendingCause volumes(const Facts& facts, const Object& pod) {
    const Said* const said = said_of(
        facts, pod,
        {"persistentvolumeclaim", "unbound immediate", "volume node affinity conflict",
         "didn't have free ports", "topology spread constraints", "pod anti-affinity rules"});
    if (said == nullptr) return {};
    auto made =
        cause("SCH010", pod, "not the GPU keeps it waiting but a volume, a port or a spread rule.");
    made.verdict.because(Evidence{.path = said->path, .line = said->line, .value = said->text});
    made.verdict.fix("kubectl -n " + pod.space + " describe pod " + pod.name);
    made.verdict.note(
        "Volumes: kubectl get pvc, and the zone of the volume; ports: another hostPort.");
    return made;
}

PendingCause names(const Facts& facts, const Object& pod) {
    const auto most = offered(facts);
    for (const auto& [name, count] : gpu_requests(pod)) {
        if (most.contains(name)) continue;
        // The name is right: the node has such GPUs, and none of them is well.
        if (has_in_capacity(facts, name)) return {"NODE002", {}};
        std::vector<std::string_view> known;
        std::vector<std::string> list;
        for (const auto& [one, amount] : most) {
            known.push_back(one);
            list.push_back(one);
        }
        const Said* const scaler = said_of(
            facts, pod, {"didn't trigger scale-up", "NotTriggerScaleUp", "TriggeredScaleUp"});
        if (scaler != nullptr && most.empty()) {
            auto made = cause("SCH015", pod,
                              "no node has a GPU now, and the autoscaler does not know that a "
                              "new node would bring one.");
            made.verdict.because(
                Evidence{.path = scaler->path, .line = scaler->line, .value = scaler->text});
            made.verdict.note(
                "Tag the node group: k8s.io/cluster-autoscaler/node-template/resources/" + name +
                " = 1 (and its labels and taints).");
            return made;
        }
        const bool shared = most.contains(name + ".shared");
        constexpr std::array<std::string_view, 5> kTypos{"nvidia/gpu", "nvidia.com/gpus",
                                                         "alpha.kubernetes.io/nvidia-gpu",
                                                         "nvidia.com/GPU", "nvidia.com/vgpu"};
        const bool typo = std::ranges::find(kTypos, name) != kTypos.end() || shared;
        const std::string near = shared ? name + ".shared"
                                 : typo ? "nvidia.com/gpu"
                                        : std::string(nearest_word(name, known));
        const bool misspelt = typo || (!near.empty() && !name.contains("mig-"));
        auto made = cause(misspelt ? "SCH003" : "SCH002", pod,
                          "no node offers `" + name + "`. Offered: " +
                              (list.empty() ? std::string("no GPU at all") : join(list)) + "." +
                              (near.empty() ? "" : " Did you mean `" + near + "`?"));
        made.verdict.because(
            of_pod(pod, name + ": " + count_text(count),
                   list.empty() ? "a resource that some node offers" : join(list)));
        if (!near.empty()) {
            made.verdict.edit("resources.limits: {" + near + ": " + count_text(count) + "}",
                              Risk::kRestartPods);
        }
        made.verdict.note(
            name.contains("mig-")
                ? "MIG names exist only with the strategy mixed and instances of that profile."
                : "Names are exact: nvidia.com/gpu; nvidia.com/gpu.shared with renameByDefault.");
        return made;
    }
    return {};
}

PendingCause too_many(const Facts& facts, const Object& pod) {
    const auto most = offered(facts);
    for (const auto& [name, count] : gpu_requests(pod)) {
        const auto found = most.find(name);
        if (found == most.end() || count <= found->second) continue;
        auto made = cause("SCH005", pod,
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

std::string texts_of(const NodeFit& one) {
    std::vector<std::string> texts;
    for (const auto& reason : one.reasons) texts.push_back(reason.text);
    return texts.empty() ? "would take it" : join(texts, "; ");
}

/// A line for every node, nearest first; nodes that lack the same share one.
void add_table(const std::vector<NodeFit>& nodes, Verdict& verdict) {
    constexpr std::size_t kMostNames = 4;
    std::vector<std::pair<std::string, std::vector<const NodeFit*>>> rows;
    for (const NodeFit& one : nodes) {
        const std::string text = texts_of(one);
        const auto row = std::ranges::find(rows, text, &decltype(rows)::value_type::first);
        if (row == rows.end()) {
            rows.push_back({text, {&one}});
        } else {
            row->second.push_back(&one);
        }
    }
    for (const auto& [text, alike] : rows) {
        std::vector<std::string> names;
        for (const NodeFit* const one : alike) names.push_back(one->node->name);
        const std::size_t count = names.size();
        if (count > kMostNames) names.resize(kMostNames);
        verdict.because(Evidence{
            .path = alike.front()->node->path,
            .value =
                join(names) +
                (count > kMostNames ? " and " + std::to_string(count - kMostNames) + " more nodes"
                                    : "") +
                ": " + text});
    }
}

/// "nearest is node gpu-1; only this is missing: ..."
std::string nearest_text(const std::vector<NodeFit>& nodes) {
    const NodeFit& best = nodes.front();
    if (nodes.size() == 1) return "node " + best.node->name + ": " + texts_of(best);
    return "nearest of " + std::to_string(nodes.size()) + " nodes is " + best.node->name +
           (best.reasons.size() == 1
                ? "; only one thing is missing: "
                : "; " + std::to_string(best.reasons.size()) + " things are missing: ") +
           texts_of(best);
}

/// Who has it, those on `node` first.
std::string holders(const Facts& facts, const std::string& resource, const std::string& node) {
    std::vector<std::string> names;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!node_of(pod).empty() && !is_finished(pod) && gpu_requests(pod).contains(resource)) {
            names.insert(node_of(pod) == node ? names.begin() : names.end(), pod.id());
        }
    }
    const std::size_t count = names.size();
    if (count > 5) names.resize(5);
    return join(names) + (count > 5 ? " and " + std::to_string(count - 5) + " more" : "");
}

/// Nodes that could have the GPUs and have the labels come first, then those whose labels differ, then
/// those that are not ready; among equals those with the fewest reasons, and by name.
auto rank_of(const NodeFit& one) {
    const auto misses = [&one](Miss miss) {
        return std::ranges::any_of(one.reasons,
                                   [miss](const auto& reason) { return reason.miss == miss; });
    };
    return std::tuple(!one.offers_gpus, misses(Miss::kLabel), misses(Miss::kNotReady),
                      one.reasons.size(), std::string_view(one.node->name));
}

/// A label is proposed where it is a person's to set; else the pod is to be changed.
void add_label_fix(const NodeFit::Reason& reason, Verdict& verdict) {
    if (reason.remedy.empty()) {
        verdict.edit("nodeSelector or affinity of the pod: labels that nodes have",
                     Risk::kRestartPods);
        return;
    }
    verdict.fix(reason.remedy);
    verdict.note("Or change the pod's nodeSelector or affinity to labels that nodes have.");
}

PendingCause nearest(const Facts& facts, const Object& pod) {
    auto nodes = fit(facts, pod);
    if (nodes.empty()) return {};
    std::ranges::stable_sort(
        nodes, [](const NodeFit& a, const NodeFit& b) { return rank_of(a) < rank_of(b); });
    const NodeFit& best = nodes.front();
    if (best.reasons.empty()) return {};
    const auto& first = *std::ranges::min_element(best.reasons, {}, &NodeFit::Reason::miss);
    PendingCause made;
    switch (first.miss) {
        case Miss::kTaint:
            made = cause("SCH006", pod, nearest_text(nodes) + ".");
            made.verdict.edit(first.remedy, Risk::kRestartPods);
            break;
        case Miss::kLabel: {
            const auto fitting = std::ranges::count_if(nodes, [](const NodeFit& one) {
                return std::ranges::none_of(
                    one.reasons, [](const auto& reason) { return reason.miss == Miss::kLabel; });
            });
            made = cause("SCH007", pod,
                         std::to_string(fitting) + " of " + std::to_string(nodes.size()) +
                             " nodes have the labels it asks for; " + nearest_text(nodes) + ".");
            add_label_fix(first, made.verdict);
            break;
        }
        case Miss::kNotReady:
            // Of a node that is not ready its own check says why.
            made = cause(first.text == kNodeNotReady ? "NODE007" : "SCH006", pod,
                         nearest_text(nodes) + ".");
            made.verdict.fix(first.remedy.starts_with("kubectl")
                                 ? first.remedy
                                 : "kubectl describe node " + best.node->name);
            break;
        case Miss::kOther:
            made = cause("SCH008", pod, "a GPU is there; " + nearest_text(nodes) + ".");
            made.verdict.edit(
                "resources.requests." + first.resource + ": less than the node has left",
                Risk::kRestartPods);
            made.verdict.note(
                "Or use a larger machine: allocatable is less than the machine's size.");
            break;
        case Miss::kGpu: {
            const bool free_elsewhere = std::ranges::any_of(nodes, [&](const NodeFit& one) {
                return one.offers_gpus && std::ranges::none_of(one.reasons, [](const auto& reason) {
                           return reason.miss == Miss::kGpu;
                       });
            });
            made = cause("SCH001", pod,
                         (free_elsewhere
                              ? nearest_text(nodes)
                              : "every " + first.resource + " is in use; " + nearest_text(nodes)) +
                             "; held by " + holders(facts, first.resource, best.node->name) + ".");
            if (free_elsewhere) {
                made.verdict.note(
                    "Other nodes have one free, but do not take the pod: see what was read.");
            }
            made.verdict.note(
                "Wait, delete one of the holders, share the GPU (aliquot plan), or add a node.");
            break;
        }
    }
    add_table(nodes, made.verdict);
    return made;
}

}  // namespace

void read_pending(Facts& facts) {
    for (const Object* const pod : pending_pods(facts)) {
        facts.pending[pod->id()] = why_pending(facts, *pod).id;
    }
}

PendingCause why_pending(const Facts& facts, const Object& pod) {
    for (auto* const look : {+[](const Facts&, const Object& one) { return gated(one); },
                             other_scheduler, volumes, why_unallocated, names, too_many, nearest}) {
        PendingCause found = look(facts, pod);
        if (!found.id.empty()) return found;
    }
    return {};
}

}  // namespace aliquot::doctor
