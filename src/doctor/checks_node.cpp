// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

double amount(const Object& node, std::string_view list, std::string_view resource) {
    return k8s::quantity_value(text_at(node.body, {"status", list, resource})).value_or(0);
}

std::string whole(double count) { return std::to_string(static_cast<long>(count)); }

/// A driver publishes GPUs of it for ResourceClaims: then kubelet counts none.
bool hands_out_by_claims(const Facts& facts, const Object& node) {
    return std::ranges::any_of(facts.cluster.all("ResourceSlice"), [&](const Object& slice) {
        return text_at(slice.body, {"spec", "nodeName"}) == node.name &&
               contains_folded(text_at(slice.body, {"spec", "driver"}), "gpu") &&
               !items_at(slice.body, {"spec", "devices"}).empty();
    });
}

Verdict judge_capacity(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    bool any = false;
    for (const Object* const node : nodes) any = any || is_gpu_node(*node);
    for (const Object* const node : nodes) {
        const auto resources = gpu_resources(*node);
        const bool offers = std::ranges::any_of(
            resources, [&](const std::string& one) { return amount(*node, "capacity", one) > 0; });
        if (offers || hands_out_by_claims(facts, *node)) continue;
        const bool wanted = label(*node, "nvidia.com/gpu.present") == "true" || is_gpu_node(*node);
        // On a host we know that there is a GPU; then a node without one is wrong.
        const bool asked =
            facts.target.kind == Target::Kind::kHost || facts.target.kind == Target::Kind::kNode;
        const bool here = asked && nodes.size() == 1 && !facts.host.pci_gpus().empty();
        if (!wanted && !here) continue;
        auto verdict = failed("Node " + node->name +
                              " has a GPU but offers none (no nvidia.com/gpu in its "
                              "capacity).");
        verdict.because(Evidence{.path = node->path,
                                 .value = resources.empty() ? "no GPU resource in status.capacity"
                                                            : resources[0] + ": 0",
                                 .expected = "nvidia.com/gpu: 1 or more"});
        verdict.fix("kubectl get pods -A -o wide --field-selector spec.nodeName=" + node->name +
                    " | grep -i device-plugin");
        verdict.note("The device plugin of that node did not register: look at its log.");
        return verdict;
    }
    if (!any) return not_here("no node has a GPU");
    return ok("every GPU node offers its GPUs");
}

Verdict judge_unhealthy(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    for (const Object* const node : nodes) {
        for (const std::string& resource : gpu_resources(*node)) {
            const double capacity = amount(*node, "capacity", resource);
            const double left = amount(*node, "allocatable", resource);
            if (left >= capacity) continue;
            auto verdict = failed(whole(capacity - left) + " of " + whole(capacity) + " " +
                                  resource + " of node " + node->name + " are unhealthy.");
            verdict.because(
                Evidence{.path = node->path,
                         .value = "capacity " + whole(capacity) + ", allocatable " + whole(left),
                         .expected = "the same"});
            for (const Xid& xid : facts.host.xids) verdict.because(xid.place);
            for (const Said& said : facts.cluster.said) {
                if (said.text.contains("XidCriticalError") ||
                    said.text.contains("marking device as unhealthy")) {
                    verdict.because(
                        Evidence{.path = said.path, .line = said.line, .value = said.text});
                }
            }
            verdict.fix(restart_of_plugin(facts), Risk::kRestartPods);
            verdict.note(
                "NVIDIA's plugin calls a GPU unhealthy after any Xid but 13, 31, 43, 45, 68 and "
                "109, and never takes it back by itself. Fix the GPU first (reset), then restart "
                "the plugin.");
            return verdict;
        }
    }
    return ok("every offered GPU is healthy");
}

Verdict judge_replicas(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    std::string told;
    for (const Object* const node : nodes) {
        const auto count = parse_number<std::int64_t>(label(*node, "nvidia.com/gpu.count"));
        const auto replicas = parse_number<std::int64_t>(label(*node, "nvidia.com/gpu.replicas"));
        if (!count || !replicas) continue;
        const bool shared = label(*node, "nvidia.com/gpu.product").ends_with("-SHARED");
        const double offered = amount(*node, "capacity", "nvidia.com/gpu") +
                               amount(*node, "capacity", "nvidia.com/gpu.shared");
        const auto expected = *count * std::max<std::int64_t>(*replicas, 1);
        const bool renamed = offered == 0;
        if (!renamed && static_cast<std::int64_t>(offered) != expected &&
            label(*node, "nvidia.com/mig.strategy") != "single") {
            auto verdict =
                warning("Node " + node->name + " offers " + whole(offered) +
                        " GPUs, its labels "
                        "say " +
                        std::to_string(*count) + " GPUs x " + std::to_string(*replicas) +
                        ": the plugin and feature discovery read different configurations.");
            verdict.because(Evidence{.path = node->path,
                                     .value = "nvidia.com/gpu: " + whole(offered) +
                                              ", gpu.count=" + std::to_string(*count) +
                                              ", gpu.replicas=" + std::to_string(*replicas),
                                     .expected = std::to_string(expected)});
            verdict.fix(
                "kubectl -n kube-system rollout restart daemonset nvidia-device-plugin-daemonset "
                "gpu-feature-discovery",
                Risk::kRestartPods);
            return verdict;
        }
        if (*replicas > 1 || shared) {
            told = whole(offered) + " offered = " + std::to_string(*count) + " GPU x " +
                   std::to_string(*replicas) + " shares";
        }
    }
    return ok(told.empty() ? "GPUs are not shared" : told);
}

Verdict judge_mig_names(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    for (const Object* const node : nodes) {
        const std::string strategy = label(*node, "nvidia.com/mig.strategy");
        std::string mig;
        for (const std::string& resource : gpu_resources(*node)) {
            if (resource.starts_with("nvidia.com/mig-") &&
                amount(*node, "capacity", resource) > 0) {
                mig = resource;
            }
        }
        if (strategy.empty() || (strategy == "mixed") || mig.empty()) continue;
        auto verdict =
            warning(concat({"Node ", node->name, " offers ", mig, " although its MIG strategy is ",
                            strategy, ", under which only nvidia.com/gpu is offered."}));
        verdict.because(Evidence{.path = node->path,
                                 .value = concat({"nvidia.com/mig.strategy=", strategy, ", ", mig}),
                                 .expected = "strategy mixed"});
        verdict.fix(
            "kubectl patch clusterpolicies.nvidia.com cluster-policy --type merge -p "
            "'{\"spec\":{\"mig\":{\"strategy\":\"mixed\"}}}'",
            Risk::kRestartPods);
        return verdict;
    }
    return ok("resource names fit the MIG strategy");
}

Verdict judge_conditions(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty()) return no_nodes(facts);
    for (const Object* const node : nodes) {
        for (const Value& condition : items_at(node->body, {"status", "conditions"})) {
            const std::string type = text_at(condition, {"type"});
            const std::string status = text_at(condition, {"status"});
            const bool bad = (type == "Ready" && status != "True") ||
                             (type.ends_with("Pressure") && status == "True") ||
                             (type == "NetworkUnavailable" && status == "True");
            if (!bad || (!is_gpu_node(*node) && nodes.size() > 1)) continue;
            auto verdict = failed("Node " + node->name + ": " +
                                  (type == "Ready" ? std::string("not ready") : type) + ".");
            verdict.because(
                Location{node->path, condition.mark.line,
                         concat({type, "=", status, " ", text_at(condition, {"message"})})},
                type == "Ready" ? "True" : "False");
            verdict.fix("kubectl describe node " + node->name);
            if (type == "DiskPressure") {
                verdict.note(
                    "GPU images have 10 GB and more: make the image store larger, or remove old "
                    "images (crictl rmi --prune).");
            }
            return verdict;
        }
    }
    return ok("the GPU nodes are ready");
}

Verdict judge_held(const Facts& facts) {
    const auto nodes = nodes_of(facts);
    if (nodes.empty() || !facts.cluster.asked("Pod")) return not_read(facts, {"Node", "Pod"});
    std::vector<std::string> table;
    for (const Object* const node : nodes) {
        for (const std::string& resource : gpu_resources(*node)) {
            double held = 0;
            std::vector<std::string> holders;
            const Object* ending = nullptr;
            for (const Object* const one : facts.cluster.pods_on(node->name)) {
                const Object& pod = *one;
                const auto wants = gpu_requests(pod);
                const auto found = wants.find(resource);
                if (found == wants.end()) continue;
                held += found->second;
                holders.push_back(pod.id());
                if (!text_at(pod.body, {"metadata", "deletionTimestamp"}).empty()) ending = &pod;
            }
            const double offered = amount(*node, "allocatable", resource);
            table.push_back(node->name + ": " + whole(held) + " of " + whole(offered) + " " +
                            resource + (holders.empty() ? "" : " held by " + join(holders)));
            if (ending != nullptr && held >= offered) {
                auto verdict = warning("A pod that is being deleted still holds " + resource +
                                       " on " + node->name + ": " + ending->id() + ".");
                verdict.because(Evidence{.path = ending->path,
                                         .value = ending->id() + " is terminating",
                                         .expected = "it is gone"});
                verdict.fix("kubectl -n " + ending->space + " delete pod " + ending->name +
                                " --grace-period=0 --force",
                            Risk::kDataLoss);
                return verdict;
            }
            if (held > offered) {
                auto verdict = warning("Pods on " + node->name + " hold " + whole(held) + " " +
                                       resource + ", only " + whole(offered) + " are offered now.");
                verdict.because(Evidence{.path = node->path,
                                         .value = join(holders),
                                         .expected = whole(offered) + " at most"});
                verdict.note(
                    "The number went down under running pods (a new configuration, or a failed "
                    "GPU). Restart the pods that have lost their device.");
                return verdict;
            }
        }
    }
    return ok(table.empty() ? "no GPU is offered" : join(table, "; "));
}

Verdict judge_leaks(const Facts& facts) {
    if (facts.nvml.processes.empty()) {
        return facts.nvml.state == NvmlFacts::State::kOk
                   ? ok("no process on the GPUs")
                   : unknown("the processes on the GPUs are not known");
    }
    for (const NvmlProcess& process : facts.nvml.processes) {
        if (process.pod.empty()) continue;
        const auto slash = process.pod.find('/');
        const Object* const pod =
            facts.cluster.find("Pod", process.pod.substr(0, slash),
                               slash == std::string::npos ? "" : process.pod.substr(slash + 1));
        if (pod == nullptr || !gpu_requests(*pod).empty() || is_plugin_name(pod->name)) continue;
        if (pod->name.contains("dcgm") || pod->name.contains("mps")) continue;
        auto verdict =
            warning("Process " + process.name + " (pod " + process.pod + ") uses " +
                    std::to_string(process.memory_mib) + " MiB of a GPU but did not request one.");
        verdict.because(process.place, "a pod with nvidia.com/gpu in limits");
        verdict.because(Evidence{.path = pod->path, .value = pod->id() + ": no GPU in limits"});
        verdict.note(
            "NVIDIA_VISIBLE_DEVICES=all in the image or the pod, with nvidia as the default "
            "runtime, "
            "gives every pod every GPU. Ask for the GPU, or set NVIDIA_VISIBLE_DEVICES=void; the "
            "toolkit can refuse it "
            "(accept-nvidia-visible-devices-envvar-when-unprivileged=false).");
        return verdict;
    }
    return ok("every process on a GPU belongs to a pod that asked for it");
}

constexpr Check kNodeChecks[] = {
    {"NODE007", Level::kNode, false, "", judge_conditions},
    {"NODE001", Level::kNode, true, "NODE007", judge_capacity},
    {"NODE002", Level::kNode, false, "NODE001 NODE007 NODE011", judge_unhealthy},
    {"NODE003", Level::kNode, false, "NODE001 NODE002 NODE014", judge_replicas},
    {"NODE004", Level::kNode, false, "NODE001", judge_mig_names},
    {"NODE009", Level::kNode, false, "NODE001 NODE002", judge_held},
    {"NODE010", Level::kNode, false, "", judge_leaks},
};

}  // namespace

std::span<const Check> node_checks() { return kNodeChecks; }

}  // namespace aliquot::doctor
