// SPDX-License-Identifier: Apache-2.0
#include "admission/pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"

namespace aliquot::admission {
namespace {

using document::Value;
using Json = nlohmann::json;

constexpr std::size_t kMostContainers = 256;

Value to_value(const Json& json) {
    Value value;
    if (json.is_object()) {
        value.kind = Value::Kind::kMapping;
        for (const auto& [key, member] : json.items()) {
            Value name{.kind = Value::Kind::kString};
            name.scalar = key;
            value.entries.emplace_back(std::move(name), to_value(member));
        }
    } else if (json.is_array()) {
        value.kind = Value::Kind::kSequence;
        for (const Json& item : json) value.items.push_back(to_value(item));
    } else if (json.is_string()) {
        value.kind = Value::Kind::kString;
        value.scalar = json.get<std::string>();
    } else if (!json.is_null()) {
        value.kind = json.is_boolean() ? Value::Kind::kBool : Value::Kind::kFloat;
        value.scalar = json.dump();
    }
    return value;
}

bool is_of_gpus(const std::string& resource, const Cluster& cluster) {
    if (k8s::is_nvidia_resource(resource)) return true;
    if (!resource.contains('/')) return false;
    return std::ranges::any_of(cluster, [&](const auto& node) {
        return std::ranges::binary_search(node->shares, resource, {}, &Share::resource);
    });
}

ContainerFacts facts_of(const k8s::Container& container, std::size_t index,
                        const Cluster& cluster) {
    ContainerFacts one{.name = container.name,
                       .init = container.init,
                       .index = index,
                       .memory_limit_bytes = k8s::count_of(container.limits, "memory")};
    k8s::Amounts wanted = container.limits;
    wanted.insert(container.requests.begin(), container.requests.end());
    for (const auto& [resource, amount] : wanted) {
        if (!is_of_gpus(resource, cluster)) continue;
        if (const auto count = k8s::whole(amount)) one.gpu_resources.emplace(resource, count);
    }
    return one;
}

bool are_objects(const std::vector<Value>& list) {
    return std::ranges::all_of(list, [](const Value& one) { return one.is_mapping(); });
}

}  // namespace

Result<PodFacts> read_pod(const Json& json, const Cluster& cluster) {
    const Value object = to_value(json);
    const auto& containers = items_at(object, {"spec", "containers"});
    if (containers.empty() || !are_objects(containers) ||
        !are_objects(items_at(object, {"spec", "initContainers"}))) {
        return Error{ErrorCode::kInvalidInput, "the object is no pod with containers"};
    }
    k8s::Pod pod = k8s::read_pod(object);
    PodFacts facts{.annotations = std::move(pod.annotations),
                   .labels = std::move(pod.labels),
                   .where = std::move(pod.where)};
    for (const bool init : {false, true}) {
        std::size_t index = 0;
        for (const k8s::Container& one : pod.containers) {
            if (one.init != init || facts.containers.size() >= kMostContainers) continue;
            facts.containers.push_back(facts_of(one, index++, cluster));
        }
    }
    return facts;
}

}  // namespace aliquot::admission
