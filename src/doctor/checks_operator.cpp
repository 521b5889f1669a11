// SPDX-License-Identifier: Apache-2.0
// What gpu-operator and its parts do around the device plugin.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/version.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

Verdict judge_chain(const Facts& facts) {
    // The order in which gpu-operator's parts wait for each other.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kChain{
        {{"nvidia-driver-daemonset", "driver-ready"},
         {"nvidia-container-toolkit-daemonset", "toolkit-ready"},
         {"nvidia-cuda-validator", "cuda-ready"},
         {"nvidia-operator-validator", "plugin-ready"},
         {"nvidia-device-plugin-daemonset", "plugin-ready"},
         {"gpu-feature-discovery", "plugin-ready"}}};
    std::size_t waiting = 0;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (is_finished(pod) || phase_of(pod) != "Pending" || node_of(pod).empty()) continue;
        const auto& states = items_at(pod.body, {"status", "initContainerStatuses"});
        const bool stuck = std::ranges::any_of(states, [](const Value& one) {
            const std::string name = text_at(one, {"name"});
            const bool validation =
                name.contains("validation") || name.contains("validator") || name.contains("wait");
            return validation && at_path(one, {"state", "terminated"}) == nullptr;
        });
        if (stuck) ++waiting;
    }
    if (waiting == 0) {
        return facts.cluster.asked("Pod") ? ok("no pod of the GPU stack waits for another")
                                          : not_read(facts, {"Pod"});
    }
    for (const auto& [name, file] : kChain) {
        for (const Object& pod : facts.cluster.all("Pod")) {
            if (!pod.name.starts_with(name)) continue;
            for (const char* const list : {"initContainerStatuses", "containerStatuses"}) {
                for (const Value& one : items_at(pod.body, {"status", list})) {
                    std::string reason = text_at(one, {"state", "waiting", "reason"});
                    const bool crash =
                        reason == "CrashLoopBackOff" || reason == "Error" ||
                        reason.contains("ImagePull") || reason.contains("ErrImage") ||
                        reason == "CreateContainerError" || reason == "RunContainerError";
                    const std::string code = text_at(one, {"state", "terminated", "exitCode"});
                    if (!crash && (code.empty() || code == "0")) continue;
                    auto verdict = failed(std::to_string(waiting) + " pods wait in Init for " +
                                          std::string(file) + "; " + pod.id() + " failed (" +
                                          text_at(one, {"name"}) + ": " +
                                          (reason.empty() ? "exit " + code : reason) + ").");
                    verdict.because(Evidence{.path = pod.path,
                                             .line = one.mark.line,
                                             .value = text_at(one, {"name"}) + ": " + reason,
                                             .expected = "it ends well"});
                    verdict.fix("kubectl -n " + pod.space + " logs " + pod.name + " -c " +
                                text_at(one, {"name"}) + " --previous");
                    return verdict;
                }
            }
        }
    }
    auto verdict = failed(std::to_string(waiting) +
                          " pods of the GPU stack wait in Init, and none of "
                          "them says why.");
    verdict.because(Evidence{.path = "k8s/pods.json",
                             .value = std::to_string(waiting) + " pods in Init",
                             .expected = "0"});
    verdict.fix("ls /run/nvidia/validations   # on the node: which *-ready file is missing?");
    return verdict;
}

Verdict judge_upgrade(const Facts& facts) {
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        const auto state = labels.find("nvidia.com/gpu-driver-upgrade-state");
        if (state == labels.end() || state->second != "upgrade-failed") continue;
        auto verdict =
            failed("The driver upgrade of node " + node.name + " failed, and nobody tries again.");
        verdict.because(Evidence{.path = node.path,
                                 .value = "nvidia.com/gpu-driver-upgrade-state=upgrade-failed",
                                 .expected = "upgrade-done"});
        verdict.fix("kubectl label node " + node.name +
                    " nvidia.com/gpu-driver-upgrade-state=upgrade-required --overwrite");
        return verdict;
    }
    return facts.cluster.asked("Node") ? ok("no driver upgrade failed") : not_read(facts, {"Node"});
}

Verdict judge_mig_manager(const Facts& facts) {
    for (const Object& node : facts.cluster.all("Node")) {
        // An agent of ours says itself what became of it: NODE013.
        if (!text_at(node.body, {"metadata", "annotations", "aliquot.dev/agent"}).empty()) continue;
        const auto labels = labels_of(node);
        for (const auto& [name, value] : labels) {
            const bool paused =
                name.starts_with("nvidia.com/gpu.deploy.") && value == "paused-for-mig-change";
            const bool state = name == "nvidia.com/mig.config.state" && value == "failed";
            if (!paused && !state) continue;
            auto verdict = failed("mig-manager gave up half-way on node " + node.name +
                                  " and will not try again.");
            verdict.because(Evidence{.path = node.path,
                                     .value = concat({name, "=", value}),
                                     .expected = paused ? "true" : "success"});
            verdict.fix(concat({"kubectl label node ", node.name, " ", name, "=",
                                paused ? "true" : "pending", " --overwrite"}));
            verdict.note(
                "Then set nvidia.com/mig.config to another value and back, so that it is applied "
                "again; no pod may use the GPU meanwhile.");
            return verdict;
        }
    }
    return facts.cluster.asked("Node") ? ok("no MIG change hangs") : not_read(facts, {"Node"});
}

/// A ClusterPolicy tells of all nodes at once. Where those that are asked about have their GPUs, it
/// is another one that is not ready.
bool is_of_other_nodes(const Facts& facts) {
    const Target::Kind kind = facts.target.kind;
    if (kind != Target::Kind::kPod && kind != Target::Kind::kNode) return false;
    return std::ranges::any_of(nodes_of(facts), [](const Object* node) {
        return std::ranges::any_of(gpu_resources(*node), [&](const std::string& name) {
            return k8s::quantity_value(text_at(node->body, {"status", "allocatable", name}))
                       .value_or(0) > 0;
        });
    });
}

Verdict judge_policy(const Facts& facts) {
    const auto& policies = facts.cluster.all("ClusterPolicy");
    if (policies.empty()) return not_here("no gpu-operator");
    if (policies.size() > 1) {
        auto verdict =
            failed("There are " + std::to_string(policies.size()) +
                   " ClusterPolicies; gpu-operator obeys the first and ignores the others.");
        for (const Object& one : policies) {
            verdict.because(Evidence{.path = one.path, .value = one.name, .expected = "one"});
        }
        verdict.fix("kubectl delete clusterpolicies.nvidia.com " + policies[1].name);
        return verdict;
    }
    const std::string state = text_at(policies[0].body, {"status", "state"});
    for (const Said& said : facts.cluster.said) {
        if (!said.text.contains("unknown field \"spec.")) continue;
        auto verdict =
            failed("gpu-operator's CRDs are from an older chart (Helm does not upgrade CRDs).");
        verdict.because(evidence_of(said, "known fields"));
        verdict.fix(
            "kubectl apply --server-side -f "
            "deployments/gpu-operator/crds/nvidia.com_clusterpolicies.yaml");
        return verdict;
    }
    if (state != "notReady" && state != "ignored") return ok("ClusterPolicy is " + state);
    if (state == "notReady" && is_of_other_nodes(facts)) {
        return ok("ClusterPolicy is notReady, but not for these nodes: they have their GPUs");
    }
    auto verdict = failed("ClusterPolicy " + policies[0].name + " is " + state + ".");
    verdict.because(
        Evidence{.path = policies[0].path, .value = "state: " + state, .expected = "ready"});
    verdict.fix("kubectl describe clusterpolicies.nvidia.com " + policies[0].name);
    return verdict;
}

/// A container of a pod with that name was killed for memory.
const Object* killed_for_memory(const Facts& facts, std::string_view name) {
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!pod.name.starts_with(name) || pod.name.contains("validator")) continue;
        for (const Value& one : items_at(pod.body, {"status", "containerStatuses"})) {
            for (const char* const when : {"state", "lastState"}) {
                if (text_at(one, {when, "terminated", "reason"}) == "OOMKilled") return &pod;
            }
        }
    }
    return nullptr;
}

Verdict judge_operator_memory(const Facts& facts) {
    if (const Object* const pod = killed_for_memory(facts, "gpu-operator")) {
        auto verdict = failed(
            "gpu-operator was killed for memory (its limit of 350Mi is too small for a "
            "large cluster).");
        verdict.because(Evidence{.path = pod->path, .value = pod->id() + ": OOMKilled"});
        verdict.fix(
            "helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator --reuse-values --set "
            "operator.resources.limits.memory=1400Mi");
        return verdict;
    }
    return facts.cluster.asked("Pod") ? ok("gpu-operator has memory enough")
                                      : not_read(facts, {"Pod"});
}

Verdict judge_exporter(const Facts& facts) {
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!pod.name.contains("dcgm-exporter")) continue;
        for (const Value& one : items_at(pod.body, {"status", "containerStatuses"})) {
            const std::string reason = text_at(one, {"state", "waiting", "reason"});
            if (reason != "CrashLoopBackOff") continue;
            const bool memory = text_at(one, {"lastState", "terminated", "reason"}) == "OOMKilled";
            auto verdict = warning("dcgm-exporter " + pod.id() + " restarts forever" +
                                   (memory ? ": killed for memory." : "."));
            verdict.because(Evidence{
                .path = pod.path, .line = one.mark.line, .value = reason, .expected = "running"});
            verdict.fix(memory ? "kubectl -n " + pod.space +
                                     " set resources daemonset dcgm-exporter "
                                     "--limits=memory=1Gi"
                               : "kubectl -n " + pod.space + " logs " + pod.name + " --previous",
                        Risk::kRestartPods);
            verdict.note(
                "It needs the host engine (a NetworkPolicy may cut it off) and SYS_ADMIN for the "
                "profiling metrics.");
            return verdict;
        }
    }
    return facts.cluster.asked("Pod") ? ok("no exporter restarts forever")
                                      : not_read(facts, {"Pod"});
}

Verdict judge_known_bug(const Facts& facts) {
    std::string driver = facts.host.driver.value;
    std::string where = facts.host.driver.place.path;
    bool mixed =
        std::ranges::any_of(facts.nvml.gpus,
                            [](const NvmlGpu& one) { return one.in_mig_mode(); }) &&
        std::ranges::any_of(facts.nvml.gpus, [](const NvmlGpu& one) { return !one.in_mig_mode(); });
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        bool mig = false;
        bool full = false;
        for (const Value::Entry& entry : entries_at(node.body, {"status", "capacity"})) {
            if (k8s::quantity_value(entry.second.scalar).value_or(0) <= 0) continue;
            mig = mig || entry.first.scalar.starts_with("nvidia.com/mig-");
            full = full || entry.first.scalar == "nvidia.com/gpu";
        }
        mixed = mixed || (mig && full);
        const auto label = labels.find("nvidia.com/cuda.driver-version.full");
        if (label != labels.end()) {
            driver = label->second;
            where = node.path;
        }
    }
    if (driver.empty()) return unknown("the driver's version is not known");
    const bool bad = catalog::compare_versions(driver, "570.124.06") >= 0 &&
                     catalog::compare_versions(driver, "570.158.01") < 0;
    if (!bad || !mixed) return ok("no known fault of this driver and plugin applies");
    auto verdict = failed("Driver " + driver +
                          " breaks the scheduling of whole GPUs on nodes where some GPUs "
                          "are in MIG mode (570.124.06 to 570.158).");
    verdict.because(
        Evidence{.path = where, .value = driver, .expected = "570.86.15, or 570.158.01 and newer"});
    verdict.note("Upgrade the driver, or put all GPUs of the node into the same MIG mode.");
    return verdict;
}

constexpr Check kOperatorChecks[] = {
    {"DP009", Level::kPlugin, true, "DP001 DP002", judge_chain},
    {"DP010", Level::kPlugin, false, "", judge_upgrade},
    {"DP011", Level::kPlugin, false, "", judge_mig_manager},
    {"DP012", Level::kPlugin, false, "DP009", judge_policy},
    {"DP013", Level::kPlugin, false, "", judge_operator_memory},
    {"DP014", Level::kPlugin, false, "", judge_exporter},
    {"DP015", Level::kPlugin, false, "", judge_known_bug},
};

}  // namespace

std::span<const Check> operator_checks() { return kOperatorChecks; }

}  // namespace aliquot::doctor
