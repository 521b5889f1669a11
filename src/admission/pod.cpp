// SPDX-License-Identifier: Apache-2.0
#include "admission/pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostContainers = 256;

std::string amount_text(const Json& amount) {
    return amount.is_string() ? amount.get<std::string>() : amount.dump();
}

bool is_of_gpus(const std::string& resource, const Cluster& cluster) {
    if (k8s::is_nvidia_resource(resource)) return true;
    if (!resource.contains('/')) return false;
    return std::ranges::any_of(cluster, [&](const auto& node) {
        return std::ranges::binary_search(node->shares, resource, {}, &Share::resource);
    });
}

void add_resources(const Json& amounts, const Cluster& cluster, ContainerFacts& container) {
    if (!amounts.is_object()) return;
    for (const auto& [resource, amount] : amounts.items()) {
        if (!is_of_gpus(resource, cluster)) continue;
        const auto read = k8s::Quantity::parse_field(amount_text(amount));
        const auto count = read ? read->ones() : std::nullopt;
        if (count && *count > 0) container.gpu_resources.emplace(resource, *count);
    }
}

void add_containers(const Json& list, bool init, const Cluster& cluster, PodFacts& facts) {
    if (!list.is_array()) return;
    for (std::size_t i = 0; i < list.size() && facts.containers.size() < kMostContainers; ++i) {
        const Json& resources = member(list[i], "resources");
        ContainerFacts one{.name = text_at(list[i], "name"), .init = init, .index = i};
        add_resources(member(resources, "limits"), cluster, one);
        add_resources(member(resources, "requests"), cluster, one);
        const Json& memory = member(member(resources, "limits"), "memory");
        if (!memory.is_null()) {
            const auto amount = k8s::Quantity::parse_field(amount_text(memory));
            const auto bytes = amount ? amount->ones() : std::nullopt;
            if (bytes && *bytes >= 0) {
                one.memory_limit_bytes = static_cast<std::uint64_t>(*bytes);
            }
        }
        facts.containers.push_back(std::move(one));
    }
}

std::vector<Requirement> requirements_of(const Json& list) {
    std::vector<Requirement> made;
    if (!list.is_array()) return made;
    for (const Json& one : list) {
        Requirement requirement{.key = text_at(one, "key"),
                                .operation = k8s::operator_of(text_at(one, "operator"))};
        const Json& values = member(one, "values");
        for (const Json& value : values.is_array() ? values : Json::array()) {
            if (value.is_string()) requirement.values.push_back(value.get<std::string>());
        }
        made.push_back(std::move(requirement));
    }
    return made;
}

k8s::NodeSelector where_of(const Json& spec) {
    k8s::NodeSelector where{.node_name = text_at(spec, "nodeName"),
                            .labels = texts_of(member(spec, "nodeSelector"))};
    const Json& required = member(member(member(spec, "affinity"), "nodeAffinity"),
                                  "requiredDuringSchedulingIgnoredDuringExecution");
    const Json& terms = member(required, "nodeSelectorTerms");
    if (!terms.is_array() || terms.empty()) return where;
    where.has_terms = true;
    for (const Json& term : terms) {
        where.terms.push_back({.labels = requirements_of(member(term, "matchExpressions")),
                               .fields = requirements_of(member(term, "matchFields"))});
    }
    return where;
}

}  // namespace

Result<PodFacts> read_pod(const Json& pod, const Cluster& cluster) {
    const Json& metadata = member(pod, "metadata");
    const Json& spec = member(pod, "spec");
    PodFacts facts{.annotations = texts_of(member(metadata, "annotations")),
                   .labels = texts_of(member(metadata, "labels")),
                   .where = where_of(spec)};
    add_containers(member(spec, "containers"), false, cluster, facts);
    const auto are_objects = [&](const char* list) {
        const Json& containers = member(spec, list);
        return !containers.is_array() ||
               std::ranges::all_of(containers, [](const Json& one) { return one.is_object(); });
    };
    if (facts.containers.empty() || !are_objects("containers") || !are_objects("initContainers")) {
        return Error{ErrorCode::kInvalidInput, "the object is no pod with containers"};
    }
    add_containers(member(spec, "initContainers"), true, cluster, facts);
    return facts;
}

}  // namespace aliquot::admission
