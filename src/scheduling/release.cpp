// SPDX-License-Identifier: Apache-2.0
#include "scheduling/release.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "base/json_value.h"

namespace aliquot::scheduling {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAffinity[] = "/spec/affinity";
constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kNodeName[] = "metadata.name";

Json operation(const char* op, const std::string& path, Json value) {
    return {{"op", op}, {"path", path}, {"value", std::move(value)}};
}

Json named_term(const std::string& node) {
    return {{"matchFields", {{{"key", kNodeName}, {"operator", "In"}, {"values", {node}}}}}};
}

/// Adds an item to the list `key` below `path`, which may not be there.
void append(Json& patch, const Json& object, const std::string& path, const char* key, Json item) {
    const bool is_there = member(object, key).is_array();
    if (is_there) {
        patch.push_back(operation("add", path + "/" + key + "/-", std::move(item)));
    } else {
        patch.push_back(operation("add", path + "/" + key, Json::array({std::move(item)})));
    }
}

/// What each of the pod's own terms gets.
void narrow_terms(Json& patch, const Json& terms, const std::string& path, const Plan& plan,
                  const std::map<std::string, std::string>& hostnames) {
    Json values = Json::array();
    for (const Target& target : plan.targets) {
        const auto hostname = hostnames.find(target.node);
        if (hostname != hostnames.end() && !hostname->second.empty())
            values.push_back(hostname->second);
    }
    const bool by_name = values.size() < 2;
    Json requirement = by_name ? named_term(plan.targets.front().node)["matchFields"][0]
                               : Json{{"key", kHostname}, {"operator", "In"}, {"values", values}};
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const Json& term = terms[i];
        // One without conditions matches no node, and must stay so.
        if (!term.is_object() || term.empty()) continue;
        append(patch, term, path + "/" + std::to_string(i),
               by_name ? "matchFields" : "matchExpressions", requirement);
    }
}

void add_affinity(Json& patch, const Json& spec, const Plan& plan,
                  const std::map<std::string, std::string>& hostnames) {
    const Json& affinity = member(spec, "affinity");
    const Json& of_nodes = member(affinity, "nodeAffinity");
    const Json& required = member(of_nodes, "requiredDuringSchedulingIgnoredDuringExecution");
    const Json& terms = member(required, "nodeSelectorTerms");
    const std::string node_path = std::string(kAffinity) + "/nodeAffinity";
    const std::string required_path = node_path + "/requiredDuringSchedulingIgnoredDuringExecution";
    if (terms.is_array() && !terms.empty()) {
        return narrow_terms(patch, terms, required_path + "/nodeSelectorTerms", plan, hostnames);
    }
    Json named = Json::array();
    for (const Target& target : plan.targets) named.push_back(named_term(target.node));
    Json wanted = {{"nodeSelectorTerms", std::move(named)}};
    if (of_nodes.is_object()) {
        patch.push_back(operation("add", required_path, std::move(wanted)));
        return;
    }
    Json made = {{"requiredDuringSchedulingIgnoredDuringExecution", std::move(wanted)}};
    if (affinity.is_object()) {
        patch.push_back(operation("add", node_path, std::move(made)));
        return;
    }
    patch.push_back(operation("add", kAffinity, Json{{"nodeAffinity", std::move(made)}}));
}

}  // namespace

Result<std::string> release_patch(std::string_view pod_json, const Plan& plan,
                                  const std::map<std::string, std::string>& hostnames) {
    const Json pod = parse_json<Json>(pod_json);
    if (!pod.is_object()) return Error{ErrorCode::kInvalidInput, "the pod is no JSON object"};
    const Json& metadata = member(pod, "metadata");
    const Json& spec = member(pod, "spec");
    const Json& gates = member(spec, "schedulingGates");
    std::optional<std::size_t> gate;
    for (std::size_t i = 0; gates.is_array() && i < gates.size(); ++i) {
        if (text_at(gates[i], "name") == admission::kPlacementGate) gate = i;
    }
    if (!gate)
        return Error{ErrorCode::kInvalidInput,
                     std::string("the pod has no gate ") + admission::kPlacementGate};
    Json patch = Json::array();
    patch.push_back(
        operation("test", "/metadata/resourceVersion", text_at(metadata, "resourceVersion")));
    if (!plan.targets.empty()) {
        const std::string key =
            std::string("/metadata/annotations/") + json_pointer_step(kPlanAnnotation);
        if (member(metadata, "annotations").is_object()) {
            patch.push_back(operation("add", key, to_json(plan)));
        } else {
            patch.push_back(
                operation("add", "/metadata/annotations", Json{{kPlanAnnotation, to_json(plan)}}));
        }
        add_affinity(patch, spec, plan, hostnames);
    }
    const std::string gate_path = "/spec/schedulingGates/" + std::to_string(*gate);
    patch.push_back(operation("test", gate_path + "/name", admission::kPlacementGate));
    patch.push_back({{"op", "remove"}, {"path", gate_path}});
    return dumped(patch);
}

k8s::NodeSelector own_rules(const GpuPod& pod,
                            const std::map<std::string, std::string>& hostnames) {
    k8s::NodeSelector where = pod.where;
    where.node_name.clear();
    const auto plan = parse_plan(pod.plan);
    if (!plan || !where.has_terms) return where;
    std::set<std::string> nodes;
    std::set<std::string> hosts;
    for (const Target& target : plan->targets) {
        nodes.insert(target.node);
        const auto host = hostnames.find(target.node);
        if (host != hostnames.end()) hosts.insert(host->second);
    }
    const auto is_last = [](const k8s::LabelSelector& all, const char* key,
                            const std::set<std::string>& names) {
        return !all.empty() && all.back().key == key &&
               all.back().operation == k8s::Requirement::Operator::kIn &&
               std::all_of(all.back().values.begin(), all.back().values.end(),
                           [&](const std::string& one) { return names.contains(one); });
    };
    const bool all = std::all_of(where.terms.begin(), where.terms.end(), [&](const auto& term) {
        return term.labels.empty() && term.fields.size() == 1 &&
               is_last(term.fields, kNodeName, nodes);
    });
    if (all) return {.labels = where.labels};
    for (k8s::NodeSelectorTerm& term : where.terms) {
        if (is_last(term.fields, kNodeName, nodes)) {
            term.fields.pop_back();
        } else if (is_last(term.labels, kHostname, hosts)) {
            term.labels.pop_back();
        }
    }
    return where;
}

}  // namespace aliquot::scheduling
