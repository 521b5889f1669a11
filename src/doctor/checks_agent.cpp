// SPDX-License-Identifier: Apache-2.0
// What the agent of ours writes on a Node: is it good, and does it still hold?
#include <algorithm>
#include <map>

#include "base/sentence.h"
#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

const Value* condition_of(const Object& node, std::string_view type) {
    for (const Value& one : items_at(node.body, {"status", "conditions"})) {
        if (text_at(one, {"type"}) == type) return &one;
    }
    return nullptr;
}

std::string annotation(const Object& object, std::string_view name) {
    return text_at(object.body, {"metadata", "annotations", name});
}

/// A condition of ours that is False: the agent says itself that something is wrong.
const Value* bad_condition(const Object& node, std::string_view type) {
    const Value* const condition = condition_of(node, type);
    if (condition == nullptr || text_at(condition, {"status"}) != "False") return nullptr;
    return condition;
}

Location place_of(const Object& node, const Value& condition) {
    return {node.path, condition.mark.line,
            node.name + ": " + text_at(condition, {"type"}) + "=" + text_at(condition, {"status"}) +
                " " + text_at(condition, {"reason"}) + ": " + text_at(condition, {"message"})};
}

/// The rest of a sentence about several nodes alike.
void count_others(Verdict& verdict, std::size_t nodes) {
    if (nodes > 1) verdict.message += " (" + counted(nodes - 1, "more node") + " alike)";
}

bool without_agent(const Facts& facts) {
    return std::ranges::none_of(nodes_of(facts), [](const Object* node) {
        return !annotation(*node, "aliquot.dev/agent").empty();
    });
}

Verdict not_ours() { return not_here("no agent of Aliquot has written on a node"); }

/// The GPUs of the annotation that are not healthy, as evidence. Their advice, once each.
void tell_gpus(const Object& node, Verdict& verdict, std::string& first) {
    const auto gpus = document::parse_json(annotation(node, "aliquot.dev/gpus"));
    if (!gpus || !gpus->is_sequence()) return;
    for (const Value& gpu : gpus->items) {
        const Value* const healthy = gpu.find("healthy");
        if (healthy == nullptr || is_true(healthy)) continue;
        const std::string since = text_at(gpu, {"since"});
        const std::string reason = text_at(gpu, {"reason"});
        const std::string name = "GPU " + text_at(gpu, {"index"});
        if (first.empty()) first = concat({name, reason.empty() ? "" : ": ", reason});
        verdict.because(
            Evidence{.path = node.path,
                     .value = concat({node.name, ": ", name, " ", text_at(gpu, {"uuid"}), " ",
                                      text_at(gpu, {"model"}), ": ", reason,
                                      since.empty() ? "" : ", since ", since}),
                     .expected = "healthy"});
        const std::string advice = text_at(gpu, {"advice"});
        const bool told = std::ranges::any_of(
            verdict.fixes, [&](const Fix& fix) { return fix.text.ends_with(advice); });
        if (!advice.empty() && !told) verdict.note(concat({node.name, ", ", name, ": ", advice}));
    }
}

Verdict judge_healthy(const Facts& facts) {
    if (nodes_of(facts).empty()) return no_nodes(facts);
    if (without_agent(facts)) return not_ours();
    std::size_t count = 0;
    Verdict verdict;
    for (const Object* const node : nodes_of(facts)) {
        const Value* const condition = bad_condition(*node, "GpuHealthy");
        if (condition == nullptr) continue;
        if (++count == 1) {
            verdict = failed("");
            verdict.fix("aliquot node show " + node->name);
        }
        std::string first;
        verdict.because(place_of(*node, *condition), "True");
        tell_gpus(*node, verdict, first);
        if (count > 1) continue;
        verdict.message =
            "Node " + node->name +
            (first.empty() ? ": " + clip(text_at(condition, {"message"}), 160)
                           : " has a GPU that cannot be used: " + clip(first, 160) + ".");
    }
    if (count == 0) return ok("the agents call every GPU healthy");
    count_others(verdict, count);
    return verdict;
}

Verdict judge_config_served(const Facts& facts) {
    if (nodes_of(facts).empty()) return no_nodes(facts);
    if (without_agent(facts)) return not_ours();
    std::size_t count = 0;
    Verdict verdict;
    for (const Object* const node : nodes_of(facts)) {
        const Value* const condition = bad_condition(*node, "GpuConfigServed");
        if (condition == nullptr) continue;
        // It waits for pods that hold GPUs: nothing is wrong.
        if (text_at(condition, {"reason"}) == "ConfigPending") continue;
        if (++count == 1) {
            verdict = failed("Node " + node->name +
                             " does not serve the configuration that it is "
                             "asked to: " +
                             clip(text_at(condition, {"message"}), 200));
            verdict.fix("aliquot node config list");
            verdict.fix("aliquot node config set " + node->name + " KEY --wait");
        }
        verdict.because(place_of(*node, *condition), "True");
        const std::string wanted = label(*node, "nvidia.com/device-plugin.config");
        if (wanted.empty()) continue;
        verdict.because(
            Evidence{.path = node->path,
                     .value = node->name + ": label nvidia.com/device-plugin.config=" + wanted});
    }
    if (count == 0) return ok("every agent serves the configuration of its node");
    count_others(verdict, count);
    return verdict;
}

Verdict judge_mig_served(const Facts& facts) {
    if (nodes_of(facts).empty()) return no_nodes(facts);
    if (without_agent(facts)) return not_ours();
    std::size_t count = 0;
    Verdict verdict;
    for (const Object* const node : nodes_of(facts)) {
        const Value* const condition = bad_condition(*node, "MigConfigServed");
        if (condition == nullptr) continue;
        const bool waits = label(*node, "nvidia.com/mig.config.state") == "pending";
        const std::string wanted = label(*node, "nvidia.com/mig.config");
        const std::string why = annotation(*node, "aliquot.dev/mig.config.problem");
        if (++count == 1) {
            const std::string text = "Node " + node->name +
                                     (waits ? " waits with" : " could not be cut into") +
                                     " the MIG configuration " + wanted + ": " +
                                     clip(why.empty() ? text_at(condition, {"message"}) : why, 200);
            verdict = waits ? warning(text) : failed(text);
            verdict.fix("aliquot node show " + node->name);
            verdict.note(
                "The GPUs are as they were. Free them, then set the label again: kubectl label "
                "node " +
                node->name + " nvidia.com/mig.config=" + wanted + " --overwrite");
        }
        verdict.because(place_of(*node, *condition), "True");
    }
    if (count == 0) return ok("no MIG configuration is refused");
    count_others(verdict, count);
    return verdict;
}

/// What the agent says it offers, summed over the rows of a resource.
std::map<std::string, double> shares_of(const Object& node) {
    std::map<std::string, double> sums;
    const auto shares = document::parse_json(annotation(node, "aliquot.dev/shares"));
    if (!shares || !shares->is_sequence()) return sums;
    for (const Value& share : shares->items) {
        sums[text_at(share, {"resource"})] +=
            k8s::quantity_value(text_at(share, {"devices"})).value_or(0);
    }
    return sums;
}

Verdict judge_offered(const Facts& facts) {
    if (nodes_of(facts).empty()) return no_nodes(facts);
    if (without_agent(facts)) return not_ours();
    for (const Object* const node : nodes_of(facts)) {
        for (const auto& [resource, devices] : shares_of(*node)) {
            const std::string told = text_at(node->body, {"status", "capacity", resource});
            const double capacity = k8s::quantity_value(told).value_or(0);
            if (capacity == devices) continue;
            const auto whole = [](double number) {
                return std::to_string(static_cast<long>(number));
            };
            auto verdict =
                warning("Node " + node->name + ": the agent offers " + whole(devices) + " " +
                        resource + ", the kubelet counts " + whole(capacity) + ".");
            verdict.because(Evidence{.path = node->path,
                                     .value = node->name + ": aliquot.dev/shares says " +
                                              whole(devices) + " " + resource +
                                              ", status.capacity " + whole(capacity),
                                     .expected = "the same"});
            verdict.fix(
                "kubectl -n aliquot-system get pods -o wide --field-selector spec.nodeName=" +
                node->name);
            verdict.note(
                "Either the agent is not registered with the kubelet (its log tells why), or "
                "another device plugin offers the same resource.");
            return verdict;
        }
    }
    return ok("the kubelets count what the agents offer");
}

bool runs_agent(const Facts& facts, const Object& node) {
    return std::ranges::any_of(facts.cluster.pods_on(node.name), [](const Object* pod) {
        const auto labels = labels_of(*pod);
        const auto part = labels.find("app.kubernetes.io/component");
        const auto name = labels.find("app.kubernetes.io/name");
        return pod->name.starts_with("aliquot-agent") ||
               (part != labels.end() && part->second == "agent" && name != labels.end() &&
                name->second == "aliquot");
    });
}

Verdict judge_stale(const Facts& facts) {
    constexpr std::int64_t kOldSeconds = 1800;
    if (nodes_of(facts).empty()) return no_nodes(facts);
    if (!facts.cluster.asked("Pod")) return not_read(facts, {"Pod"});
    if (without_agent(facts)) return not_ours();
    for (const Object* const node : nodes_of(facts)) {
        if (annotation(*node, "aliquot.dev/agent").empty() || runs_agent(facts, *node)) continue;
        const Value* const condition = condition_of(*node, "GpuHealthy");
        const std::string told = text_at(condition, {"lastHeartbeatTime"});
        // An agent beside Kubernetes has no pod, but it still tells.
        const auto at = time_of(told);
        if (at && facts.now_s - *at < kOldSeconds) continue;
        auto verdict = warning("Node " + node->name +
                               " still says what an agent wrote that does not run there any more: "
                               "its labels and conditions may be wrong.");
        verdict.because(Evidence{.path = node->path,
                                 .value = node->name + ": written by agent " +
                                          annotation(*node, "aliquot.dev/agent") +
                                          (told.empty() ? "" : ", last told " + told),
                                 .expected = "a pod of the DaemonSet aliquot-agent on the node"});
        verdict.fix("kubectl -n aliquot-system get daemonset aliquot-agent -o wide");
        verdict.note("If it was taken away on purpose: aliquot uninstall removes what is left.");
        return verdict;
    }
    return ok("the agents that wrote on nodes run there");
}

constexpr Check kAgentChecks[] = {
    {"NODE011", Level::kNode, false, "NODE007", judge_healthy},
    {"NODE012", Level::kNode, false, "NODE007", judge_config_served},
    {"NODE013", Level::kNode, false, "NODE007", judge_mig_served},
    {"NODE014", Level::kNode, false, "NODE007 NODE001", judge_offered},
    {"NODE015", Level::kNode, false, "NODE007", judge_stale},
};

}  // namespace

std::span<const Check> agent_checks() { return kAgentChecks; }

}  // namespace aliquot::doctor
