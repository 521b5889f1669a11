// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "doctor/unallocated.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

const std::vector<Object>& daemon_sets(const Facts& facts) {
    return facts.cluster.all("DaemonSet");
}

const Object* plugin_set(const Facts& facts) {
    for (const Object& one : daemon_sets(facts)) {
        if (is_plugin_name(one.name) && !one.name.contains("mps")) return &one;
    }
    return nullptr;
}

std::vector<const Object*> plugin_pods(const Facts& facts) {
    std::vector<const Object*> pods;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (is_plugin_name(pod.name) && !pod.name.contains("mps") && !is_finished(pod)) {
            pods.push_back(&pod);
        }
    }
    return pods;
}

bool is_offered(const Facts& facts) {
    return std::ranges::any_of(facts.cluster.all("Node"), [](const Object& node) {
        const auto& capacity = entries_at(node.body, {"status", "capacity"});
        return std::ranges::any_of(capacity, [](const Value::Entry& entry) {
            return k8s::is_nvidia_gpu(entry.first.scalar) &&
                   k8s::quantity_value(entry.second.scalar).value_or(0) > 0;
        });
    });
}

/// What a plugin's (or its init containers') log, state or event says.
const Said* plugin_said(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const Said& said : facts.cluster.said) {
        const std::string name = said.pod.substr(said.pod.find('/') + 1);
        if (!is_plugin_name(name) && !name.contains("gpu-feature-discovery")) continue;
        for (const std::string_view part : parts) {
            if (contains_folded(said.text, part)) return &said;
        }
    }
    return nullptr;
}

Verdict judge_installed(const Facts& facts) {
    if (!facts.cluster.asked("DaemonSet")) return not_read(facts, {"DaemonSet"});
    if (const Object* const set = plugin_set(facts)) return ok("device plugin: " + set->id());
    if (!plugin_pods(facts).empty()) return ok("a device plugin runs");
    if (is_offered(facts)) return ok("some node offers GPUs");
    if (auto verdict = offered_by_claims(facts)) return *std::move(verdict);
    const bool operated = !facts.cluster.all("ClusterPolicy").empty();
    auto verdict =
        failed("Nothing on this cluster offers nvidia.com/gpu: there is no device plugin.");
    verdict.because(Evidence{
        .path = daemon_sets(facts).empty() ? "k8s/daemonsets.json" : daemon_sets(facts)[0].path,
        .value =
            std::to_string(daemon_sets(facts).size()) + " DaemonSets, none a GPU device plugin",
        .expected = "nvidia-device-plugin-daemonset or aliquot-agent"});
    verdict.fix(operated
                    ? "kubectl patch clusterpolicies.nvidia.com cluster-policy --type merge -p "
                      "'{\"spec\":{\"devicePlugin\":{\"enabled\":true}}}'"
                    : "helm upgrade -i nvidia-device-plugin nvdp/nvidia-device-plugin -n "
                      "nvidia-device-plugin --create-namespace");
    return verdict;
}

/// The labels that a pod template wants: nodeSelector, and required affinity with one value.
std::map<std::string, std::string> wanted_labels(const Object& set) {
    std::map<std::string, std::string> wanted;
    const Value* const spec = at_path(set.body, {"spec", "template", "spec"});
    for (const Value::Entry& entry : entries_at(spec, {"nodeSelector"})) {
        wanted[entry.first.scalar] = entry.second.scalar;
    }
    const Value* const required = at_path(
        spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
    const auto& terms = items_at(required, {"nodeSelectorTerms"});
    if (terms.size() != 1) return wanted;  // several terms: any of them will do
    for (const Value& one : items_at(terms[0], {"matchExpressions"})) {
        const auto& values = items_at(one, {"values"});
        if (text_at(one, {"operator"}) == "In" && values.size() == 1) {
            wanted[text_at(one, {"key"})] = values[0].scalar;
        }
    }
    return wanted;
}

Verdict judge_desired(const Facts& facts) {
    const Object* const set = plugin_set(facts);
    if (set == nullptr) return not_here("no DaemonSet of a device plugin");
    const auto desired =
        parse_number<std::int64_t>(text_at(set->body, {"status", "desiredNumberScheduled"}));
    if (!desired) return unknown("the DaemonSet has no status");
    if (*desired > 0) return ok("the device plugin wants " + std::to_string(*desired) + " nodes");
    auto verdict = failed("The DaemonSet " + set->id() + " wants 0 nodes.");
    verdict.because(Evidence{.path = set->path,
                             .value = "desiredNumberScheduled: 0",
                             .expected = "the number of GPU nodes"});
    const auto wanted = wanted_labels(*set);
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        for (const auto& [key, value] : wanted) {
            const auto found = labels.find(key);
            if (found != labels.end() && found->second == value) continue;
            std::string near;
            for (const auto& [name, text] : labels) {
                if (name.starts_with("feature.node.kubernetes.io/pci-") && name.contains("10de")) {
                    near = name;
                }
            }
            const std::string has = found == labels.end()
                                        ? (near.empty() ? "none of that name" : near + " instead")
                                        : concat({key, "=", found->second});
            verdict.message =
                concat({"The DaemonSet ", set->id(), " wants 0 nodes: it asks for the label ", key,
                        "=", value, ", node ", node.name, " has ", has, "."});
            verdict.because(Evidence{.path = node.path,
                                     .value = concat({node.name, ": no ", key, "=", value}),
                                     .expected = concat({key, "=", value})});
            verdict.fix(
                concat({"kubectl label node ", node.name, " ", key, "=", value, " --overwrite"}));
            return verdict;
        }
    }
    verdict.fix("kubectl -n " + set->space + " describe daemonset " + set->name);
    verdict.note(
        "Taints of the GPU nodes that the DaemonSet does not tolerate are the next thing to "
        "look at.");
    return verdict;
}

Verdict judge_sees_none(const Facts& facts) {
    if (const Said* const said = plugin_said(
            facts, {"No devices found. Waiting indefinitely", "Incompatible strategy detected auto",
                    "If this is a GPU node, did you "
                    "set the default runtime to `nvidia`"})) {
        auto verdict = failed(
            "The device plugin runs but sees no GPU: it was started without the nvidia "
            "runtime (or CDI).");
        verdict.because(evidence_of(*said, "the GPUs are listed"));
        verdict.fix(
            "helm upgrade nvidia-device-plugin nvdp/nvidia-device-plugin -n "
            "nvidia-device-plugin --reuse-values --set runtimeClassName=nvidia",
            Risk::kRestartPods);
        verdict.note(
            "Or make nvidia the default runtime of the node. `aliquot doctor host` on the node "
            "says more.");
        return verdict;
    }
    return plugin_pods(facts).empty() ? not_here("no device plugin runs")
                                      : ok("the device plugin sees GPUs");
}

Verdict judge_config_error(const Facts& facts) {
    const Said* const said = plugin_said(
        facts, {"error parsing config file", "no resources specified",
                "number of replicas must be >= 2", "unknown version", "unable to load config",
                "cannot unmarshal", "unable to finalize config", "failed to parse config"});
    if (said == nullptr) {
        return plugin_pods(facts).empty() ? not_here("no device plugin runs")
                                          : ok("the plugin takes its configuration");
    }
    auto verdict = failed("The device plugin refuses its configuration and restarts forever: " +
                          clip(said->text, 160));
    verdict.because(evidence_of(*said, "a configuration that it takes"));
    for (const Object& map : facts.cluster.all("ConfigMap")) {
        for (const Value::Entry& entry : entries_at(map.body, {"data"})) {
            if (!entry.second.scalar.contains("sharing") &&
                !entry.second.scalar.contains("migStrategy")) {
                continue;
            }
            verdict.because(
                Evidence{.path = map.path,
                         .line = entry.first.mark.line,
                         .value = "ConfigMap " + map.id() + ", key " + entry.first.scalar});
        }
    }
    verdict.fix("kubectl -n NAMESPACE get configmap NAME -o yaml | aliquot config check -");
    return verdict;
}

/// The ConfigMap that the plugin (or ClusterPolicy) reads, by its name.
std::string wired_config(const Facts& facts, std::string& default_key) {
    for (const Object& policy : facts.cluster.all("ClusterPolicy")) {
        std::string name = text_at(policy.body, {"spec", "devicePlugin", "config", "name"});
        default_key = text_at(policy.body, {"spec", "devicePlugin", "config", "default"});
        if (!name.empty()) return name;
    }
    if (const Object* const set = plugin_set(facts)) {
        for (const Value& volume : items_at(set->body, {"spec", "template", "spec", "volumes"})) {
            std::string name = text_at(volume, {"configMap", "name"});
            if (!name.empty() && !name.contains("entrypoint")) return name;
        }
    }
    return agent_config(facts);
}

bool is_plugin_config(const Object& map) {
    return std::ranges::any_of(entries_at(map.body, {"data"}), [](const Value::Entry& entry) {
        const std::string& text = entry.second.scalar;
        return text.contains("timeSlicing:") || text.contains("\nsharing:") ||
               text.starts_with("sharing:") || text.contains("migStrategy:");
    });
}

Verdict judge_key(const Facts& facts) {
    if (!facts.cluster.asked("ConfigMap")) return not_read(facts, {"ConfigMap"});
    std::string default_key;
    const std::string name = wired_config(facts, default_key);
    if (name.empty()) return ok("the plugin reads no ConfigMap");
    if (name == agent_config(facts)) {
        return not_here("the agents tell themselves whether they serve what is asked: NODE012");
    }
    const Object* map = nullptr;
    for (const Object& one : facts.cluster.all("ConfigMap")) {
        if (one.name == name) map = &one;
    }
    if (map == nullptr) {
        auto verdict = failed("The plugin reads ConfigMap " + name + ", which does not exist.");
        verdict.because(Evidence{
            .path = "k8s/configmaps.json", .value = "no ConfigMap " + name, .expected = name});
        verdict.fix("kubectl -n NAMESPACE create configmap " + name +
                    " --from-file=any=sharing.yaml");
        return verdict;
    }
    std::vector<std::string> keys;
    for (const Value::Entry& entry : entries_at(map->body, {"data"}))
        keys.push_back(entry.first.scalar);
    const auto has = [&](const std::string& key) {
        return std::ranges::find(keys, key) != keys.end();
    };
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        const auto wanted = labels.find("nvidia.com/device-plugin.config");
        if (wanted == labels.end() || has(wanted->second)) continue;
        auto verdict = failed("Node " + node.name + " asks for configuration `" + wanted->second +
                              "`, ConfigMap " + name + " has the keys " + join(keys) + ".");
        verdict.because(Evidence{.path = node.path,
                                 .value = "label nvidia.com/device-plugin.config=" + wanted->second,
                                 .expected = join(keys)});
        if (!keys.empty()) {
            verdict.fix("kubectl label node " + node.name +
                        " nvidia.com/device-plugin.config=" + keys.front() + " --overwrite");
        }
        return verdict;
    }
    if (!default_key.empty() && !has(default_key)) {
        auto verdict = failed("The default configuration `" + default_key +
                              "` is not a key of ConfigMap " + name + " (" + join(keys) + ").");
        verdict.because(
            Evidence{.path = map->path, .value = "keys: " + join(keys), .expected = default_key});
        verdict.fix(
            "kubectl patch clusterpolicies.nvidia.com cluster-policy --type merge -p "
            "'{\"spec\":{\"devicePlugin\":{\"config\":{\"default\":\"" +
            (keys.empty() ? "any" : keys.front()) + "\"}}}}'");
        return verdict;
    }
    return ok("every node's configuration is in ConfigMap " + name);
}

Verdict judge_newer(const Facts& facts) {
    if (!facts.cluster.asked("ConfigMap")) return not_read(facts, {"ConfigMap"});
    std::string default_key;
    const std::string name = wired_config(facts, default_key);
    if (!name.empty() && name == agent_config(facts)) return ok("the agent watches its ConfigMap");
    const auto pods = plugin_pods(facts);
    for (const Object& map : facts.cluster.all("ConfigMap")) {
        if (map.name != name || name.empty()) continue;
        std::int64_t changed =
            time_of(text_at(map.body, {"metadata", "creationTimestamp"})).value_or(0);
        for (const Value& field : items_at(map.body, {"metadata", "managedFields"})) {
            changed = std::max(changed, time_of(text_at(field, {"time"})).value_or(0));
        }
        for (const Object* const pod : pods) {
            const auto started = time_of(text_at(pod->body, {"status", "startTime"}));
            // gpu-operator's pods have a sidecar that reads it again.
            const bool watches = std::ranges::any_of(containers_of(*pod), [](const Value* one) {
                return text_at(one, {"name"}).starts_with("config-manager") &&
                       !text_at(one, {"name"}).ends_with("init");
            });
            if (!started || watches || changed <= *started) continue;
            auto verdict = warning("ConfigMap " + name +
                                   " changed after the plugin started: it does not "
                                   "watch it.");
            verdict.because(
                Evidence{.path = map.path, .value = "ConfigMap " + map.id() + " changed later"});
            verdict.because(Evidence{
                .path = pod->path,
                .value = pod->id() + " started " + text_at(pod->body, {"status", "startTime"}),
                .expected = "after the change"});
            verdict.fix("kubectl -n " + pod->space + " rollout restart daemonset " +
                            (plugin_set(facts) != nullptr ? plugin_set(facts)->name
                                                          : "nvidia-device-plugin-daemonset"),
                        Risk::kRestartPods);
            return verdict;
        }
    }
    return ok("the plugin started after its configuration changed");
}

Verdict judge_wired(const Facts& facts) {
    if (!facts.cluster.asked("ConfigMap")) return not_read(facts, {"ConfigMap"});
    std::string default_key;
    const std::string name = wired_config(facts, default_key);
    for (const Object& map : facts.cluster.all("ConfigMap")) {
        if (!is_plugin_config(map) || map.name == name) continue;
        const bool mig = std::ranges::any_of(
            entries_at(map.body, {"data"}),
            [](const Value::Entry& one) { return one.second.scalar.contains("mig-configs:"); });
        if (mig || !name.empty() || facts.cluster.all("Pod").empty()) continue;
        if (plugin_set(facts) == nullptr) continue;
        auto verdict =
            failed("ConfigMap " + map.id() + " is not wired in: no device plugin reads it.");
        verdict.because(Evidence{.path = map.path,
                                 .value = "ConfigMap " + map.id(),
                                 .expected = "named by the DaemonSet or the ClusterPolicy"});
        const bool operated = !facts.cluster.all("ClusterPolicy").empty();
        const auto& data = entries_at(map.body, {"data"});
        verdict.fix(operated
                        ? "kubectl patch clusterpolicies.nvidia.com cluster-policy --type merge -p "
                          "'{\"spec\":{\"devicePlugin\":{\"config\":{\"name\":\"" +
                              map.name + "\",\"default\":\"" +
                              (data.empty() ? "any" : data.front().first.scalar) + "\"}}}}'"
                        : "helm upgrade nvidia-device-plugin nvdp/nvidia-device-plugin -n " +
                              plugin_set(facts)->space +
                              " --reuse-values --set config.name=" + map.name,
                    Risk::kRestartPods);
        return verdict;
    }
    return ok("every plugin configuration is read by somebody");
}

Verdict judge_two_plugins(const Facts& facts) {
    std::map<std::string, std::vector<const Object*>> by_node;
    for (const Object* const pod : plugin_pods(facts)) {
        if (!node_of(*pod).empty()) by_node[node_of(*pod)].push_back(pod);
    }
    for (const auto& [node, pods] : by_node) {
        if (pods.size() < 2) continue;
        // Two pods of one DaemonSet are an update in progress.
        const auto owner = [](const Object& pod) {
            const auto& owners = items_at(pod.body, {"metadata", "ownerReferences"});
            return owners.empty() ? pod.space + "/" + pod.name.substr(0, pod.name.rfind('-'))
                                  : text_at(owners[0], {"name"}) + pod.space;
        };
        if (owner(*pods[0]) == owner(*pods[1])) continue;
        auto verdict = failed("Two device plugins offer GPUs on " + node + ": " + pods[0]->id() +
                              " and " + pods[1]->id() + ".");
        for (const Object* const pod : pods) {
            verdict.because(
                Evidence{.path = pod->path, .value = pod->id(), .expected = "one plugin"});
        }
        verdict.fix("kubectl -n " + pods[1]->space + " get pod " + pods[1]->name +
                    " -o jsonpath={.metadata.ownerReferences[0].name}");
        verdict.note("Remove the DaemonSet of one of them.");
        return verdict;
    }
    return facts.cluster.asked("Pod") ? ok("one device plugin per node") : not_read(facts, {"Pod"});
}

constexpr Check kPluginChecks[] = {
    {"DP001", Level::kPlugin, true, "", judge_installed},
    {"DP002", Level::kPlugin, true, "DP001 DP011", judge_desired},
    {"DP004", Level::kPlugin, true, "DP001 DP002 MPS008", judge_config_error},
    {"DP003", Level::kPlugin, true, "DP001 DP002 DP004 DP009", judge_sees_none},
    {"DP005", Level::kPlugin, true, "DP001 DP004", judge_key},
    {"DP006", Level::kPlugin, false, "DP001 DP004 DP005", judge_newer},
    {"DP007", Level::kPlugin, false, "DP001 DP004 DP005 MPS008", judge_wired},
    {"DP008", Level::kPlugin, false, "", judge_two_plugins},
};

}  // namespace

std::span<const Check> plugin_checks() { return kPluginChecks; }

}  // namespace aliquot::doctor
