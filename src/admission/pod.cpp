// SPDX-License-Identifier: Apache-2.0
#include "admission/pod.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"

namespace aliquot::admission {
namespace {

using document::Value;
using Json = nlohmann::json;

constexpr std::size_t kMostContainers = 256;

/// What of a pod decides, as a Value. A review may have 3 MiB of tiny values, each of which takes a
/// hundred times its size: what nobody reads is not copied, and what is read has a limit.
class PodView {
public:
    Value of(const Json& pod) {
        Value view = mapping();
        for (const auto& [name, fields] : kRead) {
            const auto part = pod.is_object() ? pod.find(name) : pod.end();
            if (part == pod.end() || !part->is_object()) continue;
            Value kept = mapping();
            for (const std::string_view field : fields) {
                const auto found = part->find(field);
                if (found == part->end()) continue;
                const bool ours = field == "annotations" || field == "labels";
                const bool list = field.ends_with("ontainers");
                append(kept, field,
                       ours   ? with_our_keys(*found)
                       : list ? containers(*found)
                              : all(*found));
            }
            append(view, name, std::move(kept));
        }
        return view;
    }
    [[nodiscard]] bool is_complete() const { return left_ > 0; }

private:
    static constexpr std::size_t kMostValues = 20'000;
    static constexpr std::array<std::pair<std::string_view, std::array<std::string_view, 5>>, 2>
        kRead{{{"metadata", {"namespace", "name", "labels", "annotations", "generateName"}},
               {"spec",
                {"nodeSelector", "affinity", "tolerations", "initContainers", "containers"}}}};

    static Value mapping() { return {.kind = Value::Kind::kMapping}; }

    void append(Value& to, std::string_view key, Value value) {
        Value name{.kind = Value::Kind::kString};
        name.scalar = key;
        to.entries.emplace_back(std::move(name), std::move(value));
    }

    Value with_our_keys(const Json& json) {
        Value kept = mapping();
        if (!json.is_object()) return kept;
        for (const auto& [key, member] : json.items()) {
            if (key.starts_with("aliquot.dev/")) append(kept, key, all(member));
        }
        return kept;
    }

    Value containers(const Json& json) {
        if (!json.is_array()) return all(json);
        Value list{.kind = Value::Kind::kSequence};
        for (const Json& container : json) {
            if (!container.is_object()) {
                list.items.push_back(all(container));
                continue;
            }
            Value kept = mapping();
            for (const char* const field : {"name", "resources", "restartPolicy"}) {
                const auto found = container.find(field);
                if (found != container.end()) append(kept, field, all(*found));
            }
            list.items.push_back(std::move(kept));
        }
        return list;
    }

    Value all(const Json& json) {
        Value value;
        if (left_ == 0) return value;
        --left_;
        if (json.is_object()) {
            value.kind = Value::Kind::kMapping;
            for (const auto& [key, member] : json.items()) {
                if (left_ == 0) break;
                append(value, key, all(member));
            }
        } else if (json.is_array()) {
            value.kind = Value::Kind::kSequence;
            for (const Json& item : json) {
                if (left_ == 0) break;
                value.items.push_back(all(item));
            }
        } else if (json.is_string()) {
            value.kind = Value::Kind::kString;
            value.scalar = json.get<std::string>();
        } else if (!json.is_null()) {
            value.kind = json.is_boolean() ? Value::Kind::kBool : Value::Kind::kFloat;
            value.scalar = dumped(json);
        }
        return value;
    }

    std::size_t left_ = kMostValues;
};

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
    PodView view;
    const Value object = view.of(json);
    if (!view.is_complete()) {
        return Error{ErrorCode::kInvalidInput,
                     "the pod has more than 20,000 values in what decides about GPUs"};
    }
    const auto& containers = items_at(object, {"spec", "containers"});
    if (containers.empty() || !are_objects(containers) ||
        !are_objects(items_at(object, {"spec", "initContainers"}))) {
        return Error{ErrorCode::kInvalidInput, "the object is not a pod with containers"};
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
