// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "doctor/fit.h"
#include "doctor/pending.h"
#include "doctor/text.h"
#include "doctor/unallocated.h"

namespace aliquot::doctor {
namespace {

using Miss = NodeFit::Miss;

PendingCause gated(const Object& pod) {
    const auto& gates = items_at(pod.body, {"spec", "schedulingGates"});
    if (gates.empty()) return {};
    const std::string gate = text_at(gates[0], {"name"});
    auto made = pending_cause("SCH014", pod, "held back by the scheduling gate " + gate + ".");
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
    auto made =
        pending_cause("SCH014", pod, "names the scheduler " + name + ", of which no pod runs.");
    made.verdict.because(of_pod(pod, "schedulerName: " + name, "a scheduler that runs"));
    made.verdict.fix("kubectl get pods -A | grep -i scheduler");
    return made;
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
    return std::tuple(!one.offers_gpus, one.misses(Miss::kLabel), one.misses(Miss::kNotReady),
                      one.reasons.size(), std::string_view(one.node->name));
}

/// A label is proposed where it is a person's to set; else the pod is to be changed.
void add_label_fix(const NodeFit::Reason& reason, Verdict& verdict) {
    // Feature discovery adds to the model's name when the GPU is shared or cut.
    if (!reason.wished.empty() && reason.has.starts_with(reason.wished + "-")) {
        verdict.edit(concat({"nodeSelector: {", reason.resource, ": ", reason.has, "}"}),
                     Risk::kRestartPods);
        return;
    }
    if (reason.remedy.empty()) {
        verdict.edit("nodeSelector or affinity of the pod: labels that nodes have",
                     Risk::kRestartPods);
        return;
    }
    verdict.fix(reason.remedy);
    verdict.note("Or change the pod's nodeSelector or affinity to labels that nodes have.");
}

/// What ends the state of a node that keeps every pod away.
void add_state_fix(const NodeFit::Reason& reason, const Object& node, Verdict& verdict) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAdvice{
        {{"node.kubernetes.io/disk-pressure",
          "Free the disk of the node (old images: crictl rmi --prune; logs; emptyDir), or give it "
          "a "
          "larger one: the kubelet takes the taint away by itself."},
         {"node.kubernetes.io/memory-pressure",
          "Find what fills the node's memory; the kubelet takes the taint away by itself."},
         {"node.kubernetes.io/pid-pressure",
          "Find what starts so many processes; the kubelet takes the taint away by itself."},
         {"node.kubernetes.io/network-unavailable",
          "The network plugin of the node is not up: look at its pod there."}}};
    verdict.fix(reason.remedy.starts_with("kubectl") ? reason.remedy
                                                     : "kubectl describe node " + node.name);
    for (const auto& [key, advice] : kAdvice) {
        if (reason.resource == key) verdict.note(std::string(advice));
    }
}

/// The pod on the node that holds the resource and has been told to go.
const Object* leaving_holder(const Facts& facts, const std::string& resource,
                             const std::string& node) {
    for (const Object& pod : facts.cluster.all("Pod")) {
        const bool holds =
            node_of(pod) == node && !is_finished(pod) && gpu_requests(pod).contains(resource);
        if (holds && !text_at(pod.body, {"metadata", "deletionTimestamp"}).empty()) return &pod;
    }
    return nullptr;
}

void add_leaving(const Object& pod, Verdict& verdict) {
    verdict.message +=
        concat({" ", pod.id(), " is being deleted since ",
                text_at(pod.body, {"metadata", "deletionTimestamp"}), " and has not gone."});
    const auto& finalizers = items_at(pod.body, {"metadata", "finalizers"});
    if (finalizers.empty()) {
        verdict.fix(concat({"kubectl -n ", pod.space, " delete pod ", pod.name,
                            " --force --grace-period=0"}),
                    Risk::kRestartPods);
        verdict.note(
            "First see that the node answers and its processes have ended: a forced "
            "deletion does not end them.");
        return;
    }
    verdict.fix(concat({"kubectl -n ", pod.space, " get pod ", pod.name,
                        " -o jsonpath='{.metadata.finalizers}'"}));
    verdict.note(concat({"Whoever set the finalizer ", finalizers[0].scalar,
                         " must take it away: is that controller running?"}));
}

/// Every GPU is held, on the node that is nearest at least.
PendingCause all_held(const Facts& facts, const Object& pod, const std::vector<NodeFit>& nodes,
                      const NodeFit::Reason& first) {
    const std::string& node = nodes.front().node->name;
    const bool free_elsewhere = std::ranges::any_of(nodes, [&](const NodeFit& one) {
        return one.offers_gpus && !one.misses(Miss::kGpu) && !one.misses(Miss::kNotReady);
    });
    auto made = pending_cause(
        "SCH001", pod,
        (free_elsewhere ? nearest_text(nodes)
                        : "every " + first.resource + " is in use; " + nearest_text(nodes)) +
            "; held by " + holders(facts, first.resource, node) + ".");
    if (const Object* const leaving = leaving_holder(facts, first.resource, node)) {
        add_leaving(*leaving, made.verdict);
    }
    if (free_elsewhere) {
        made.verdict.note("Other nodes have one free, but do not take the pod: see what was read.");
    }
    made.verdict.note(
        "Wait, delete one of the holders, share the GPU (aliquot plan), or add a node.");
    return made;
}

PendingCause nearest(const Facts& facts, const Object& pod, std::vector<NodeFit> nodes) {
    if (nodes.empty()) return {};
    std::ranges::stable_sort(
        nodes, [](const NodeFit& a, const NodeFit& b) { return rank_of(a) < rank_of(b); });
    const NodeFit& best = nodes.front();
    if (best.reasons.empty()) return {};
    const auto& first = *std::ranges::min_element(best.reasons, {}, &NodeFit::Reason::miss);
    PendingCause made;
    switch (first.miss) {
        case Miss::kTaint:
            made = pending_cause("SCH006", pod, nearest_text(nodes) + ".");
            made.verdict.edit(first.remedy, Risk::kRestartPods);
            break;
        case Miss::kLabel: {
            const auto fitting = std::ranges::count_if(nodes, [](const NodeFit& one) {
                return std::ranges::none_of(
                    one.reasons, [](const auto& reason) { return reason.miss == Miss::kLabel; });
            });
            made = pending_cause("SCH007", pod,
                                 std::to_string(fitting) + " of " + std::to_string(nodes.size()) +
                                     " nodes have the labels it asks for; " + nearest_text(nodes) +
                                     ".");
            add_label_fix(first, made.verdict);
            break;
        }
        case Miss::kNotReady:
            // Of a node that is not ready its own check says why.
            made = pending_cause(first.text == kNodeNotReady ? "NODE007" : "SCH006", pod,
                                 nearest_text(nodes) + ".");
            add_state_fix(first, *best.node, made.verdict);
            break;
        case Miss::kOther:
            made = pending_cause("SCH008", pod, "a GPU is there; " + nearest_text(nodes) + ".");
            made.verdict.edit(
                "resources.requests." + first.resource + ": less than the node has left",
                Risk::kRestartPods);
            made.verdict.note(
                "Or use a larger machine: allocatable is less than the machine's size.");
            break;
        case Miss::kGpu:
            made = all_held(facts, pod, nodes, first);
            break;
    }
    add_table(nodes, made.verdict);
    return made;
}

}  // namespace

PendingCause pending_cause(std::string id, const Object& pod, std::string message) {
    PendingCause made{std::move(id), failed("Pod " + pod.id() + ": " + std::move(message))};
    return made;
}

Evidence of_pod(const Object& pod, std::string value, std::string expected) {
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

void read_pending(Facts& facts) {
    for (const Object* const pod : pending_pods(facts)) {
        facts.pending[pod->id()] = why_pending(facts, *pod).id;
    }
}

PendingCause why_pending(const Facts& facts, const Object& pod) {
    for (auto* const look : {+[](const Facts&, const Object& one) { return gated(one); },
                             other_scheduler, why_claim_of_volume, why_unallocated}) {
        PendingCause found = look(facts, pod);
        if (!found.id.empty()) return found;
    }
    auto nodes = fit(facts, pod);
    PendingCause found = why_unknown_name(facts, pod, nodes);
    if (found.id.empty()) found = why_too_many(pod, nodes);
    if (found.id.empty()) found = nearest(facts, pod, std::move(nodes));
    return found.id.empty() ? why_refused_by_rule(facts, pod) : found;
}

}  // namespace aliquot::doctor
