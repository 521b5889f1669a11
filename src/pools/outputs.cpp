// SPDX-License-Identifier: Apache-2.0
#include "pools/outputs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "k8s/resource_name.h"

namespace aliquot::pools {
namespace {

using document::append;
using document::make_mapping;
using document::only_if;
using document::Value;

constexpr int kPlaceholderPriority = -10;
constexpr const char* kPlaceholderClass = "aliquot-placeholder";
constexpr const char* kPauseImage = "registry.k8s.io/pause:3.10";

std::string duration_text(std::chrono::seconds duration) {
    return std::to_string(duration.count()) + "s";
}

Value labels_of(const Pool& pool) {
    Value labels = make_mapping();
    for (const auto& [key, value] : pool.node.labels) append(labels, key, value);
    append(labels, std::string(kPoolLabel), pool.name);
    return labels;
}

Value taint_of(const k8s::Taint& taint) {
    return make_mapping({{"key", taint.key},
                         {"value", only_if(!taint.value.empty(), taint.value)},
                         {"effect", taint.effect}});
}

/// The reference's kind and name; its group by the providers that are known.
Value class_of(const Pool& pool) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kGroups{
        {{"EC2NodeClass", "karpenter.k8s.aws"},
         {"AKSNodeClass", "karpenter.azure.com"},
         {"KWOKNodeClass", "karpenter.kwok.sh"}}};
    const auto slash = pool.node_class.find('/');
    const std::string kind =
        slash == std::string::npos ? "EC2NodeClass" : pool.node_class.substr(0, slash);
    const std::string name =
        slash == std::string::npos ? pool.node_class : pool.node_class.substr(slash + 1);
    std::string group = "karpenter.k8s.aws";
    for (const auto& [known, of] : kGroups) {
        if (kind == known) group = of;
    }
    return make_mapping(
        {{"group", group}, {"kind", kind}, {"name", name.empty() ? pool.name : name}});
}

Value requirement(const char* key, const std::vector<std::string>& values) {
    return make_mapping({{"key", key}, {"operator", "In"}, {"values", values}});
}

Value node_template(const Pool& pool, const std::vector<CapacityType>& capacity) {
    std::vector<std::string> types;
    for (const CapacityType one : capacity) types.emplace_back(to_text(one));
    std::vector<Value> requirements;
    if (!pool.instances.empty()) {
        requirements.push_back(requirement("node.kubernetes.io/instance-type", pool.instances));
    }
    requirements.push_back(requirement("karpenter.sh/capacity-type", types));
    return make_mapping(
        {{"metadata", make_mapping({{"labels", labels_of(pool)}})},
         {"spec",
          make_mapping({{"nodeClassRef", class_of(pool)},
                        {"taints", only_if(!pool.node.taints.empty(),
                                           document::make_sequence(pool.node.taints, taint_of))},
                        {"requirements", requirements}})}});
}

/// Empty nodes may all go at once; nodes with pods never by will of Karpenter.
Value disruption_of(const Pool& pool) {
    return make_mapping(
        {{"consolidationPolicy", "WhenEmpty"},
         {"consolidateAfter", duration_text(pool.scale_down_delay)},
         {"budgets",
          std::vector{
              make_mapping({{"nodes", "100%"}, {"reasons", std::vector<std::string>{"Empty"}}}),
              make_mapping({{"nodes", "0"},
                            {"reasons", std::vector<std::string>{"Underutilized", "Drifted"}}})}}});
}

Value node_pool(const std::string& name, Value spec) {
    return make_mapping({{"apiVersion", "karpenter.sh/v1"},
                         {"kind", "NodePool"},
                         {"metadata", make_mapping({{"name", name}})},
                         {"spec", std::move(spec)}});
}

/// NodePools of the pool, by the kinds of capacity that each has.
std::vector<std::vector<CapacityType>> capacities_of(const Pool& pool) {
    std::vector<CapacityType> all;
    for (const CapacityType one : pool.capacity) {
        if (one == CapacityType::kSpot && pool.is_production()) continue;
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
    if (all.empty()) all.push_back(CapacityType::kOnDemand);
    if (all.size() == 1 || all[0] == CapacityType::kSpot) return {all};
    return {{all[0]}, {all[1]}};
}

/// How many nodes the NodePool at `place` may have, so that all together have no more than the pool may.
unsigned most_of(const Pool& pool, const Numbers& numbers, std::size_t place, std::size_t count) {
    const unsigned most = std::min(pool.most_nodes(), numbers.most.value_or(pool.most_nodes()));
    if (count == 1) return most;
    const bool may_grow = (place == 1) == numbers.first_gave_up;
    const unsigned own = place == 0 ? numbers.on_demand_nodes : numbers.spot_nodes;
    const unsigned other = place == 0 ? numbers.spot_nodes : numbers.on_demand_nodes;
    if (may_grow) return most > other ? most - other : 0;
    return std::min(own, most);
}

Value limits_of(const Pool& pool, unsigned nodes) {
    Value limits = make_mapping({{"nodes", std::to_string(nodes)}});
    const unsigned each = pool.gpus_per_node();
    if (each == 0) return limits;
    const unsigned gpus = std::min(each * nodes, pool.most_gpus.value_or(each * nodes));
    append(limits, "nvidia.com/gpu", std::to_string(gpus));
    return limits;
}

std::string amount_text(double amount) { return decimal_text(std::floor(amount), 0); }

/// What of a node a placeholder asks for: its devices, so that one fits on it, and little else.
Value placeholder_resources(const Pool& pool) {
    Value wanted = make_mapping({{"cpu", "10m"}, {"memory", "16Mi"}});
    for (const auto& [resource, amount] : pool.node.amounts) {
        if (k8s::is_gpu_resource(resource)) append(wanted, resource, amount_text(amount));
    }
    return make_mapping({{"requests", wanted}, {"limits", wanted}});
}

/// What a node will offer beside the devices that Karpenter knows of; empty: nothing.
std::optional<Value> share_overlay(const Pool& pool) {
    Value capacity = make_mapping();
    for (const auto& [resource, amount] : pool.node.amounts) {
        if (!k8s::is_gpu_resource(resource) || resource == "nvidia.com/gpu") continue;
        append(capacity, resource, amount_text(amount));
    }
    if (capacity.entries.empty()) return std::nullopt;
    std::vector<Value> requirements{requirement(std::string(kPoolLabel).c_str(), {pool.name})};
    return make_mapping(
        {{"apiVersion", "karpenter.sh/v1alpha1"},
         {"kind", "NodeOverlay"},
         {"metadata", make_mapping({{"name", pool.name}})},
         {"spec", make_mapping({{"requirements", requirements}, {"capacity", capacity}})}});
}

}  // namespace

std::vector<Value> node_pools(const Pool& pool, const Numbers& numbers) {
    std::vector<Value> all;
    const auto kinds = capacities_of(pool);
    if (pool.engine == Engine::kKarpenterStatic) {
        std::vector<CapacityType> any;
        for (const auto& some : kinds) any.insert(any.end(), some.begin(), some.end());
        all.push_back(node_pool(
            pool.name,
            make_mapping({{"replicas", numbers.nodes},
                          {"limits", make_mapping({{"nodes", std::to_string(pool.most_nodes())}})},
                          {"template", node_template(pool, any)}})));
        return all;
    }
    unsigned weight = 100;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const std::string suffix =
            kinds.size() == 1 ? "" : "-" + std::string(to_text(kinds[i].front()));
        all.push_back(node_pool(
            pool.name + suffix,
            make_mapping({{"weight", weight},
                          {"limits", limits_of(pool, most_of(pool, numbers, i, kinds.size()))},
                          {"disruption", disruption_of(pool)},
                          {"template", node_template(pool, kinds[i])}})));
        weight -= 50;
    }
    if (auto overlay = share_overlay(pool)) all.push_back(*std::move(overlay));
    return all;
}

std::vector<Value> placeholders(const Pool& pool, unsigned pods) {
    const Value priority =
        make_mapping({{"apiVersion", "scheduling.k8s.io/v1"},
                      {"kind", "PriorityClass"},
                      {"metadata", make_mapping({{"name", kPlaceholderClass}})},
                      {"value", kPlaceholderPriority},
                      {"preemptionPolicy", "Never"},
                      {"description", "Pods that hold a node until a real one comes"}});
    const std::string name = pool.name + "-placeholder";
    const Value selector = make_mapping({{"aliquot.dev/placeholder", pool.name}});
    const auto toleration = [](const k8s::Taint& taint) {
        return make_mapping({{"key", taint.key}, {"operator", "Exists"}, {"effect", taint.effect}});
    };
    const Value pod = make_mapping(
        {{"priorityClassName", kPlaceholderClass},
         {"terminationGracePeriodSeconds", 0},
         {"automountServiceAccountToken", false},
         {"nodeSelector", labels_of(pool)},
         {"tolerations", only_if(!pool.node.taints.empty(),
                                 document::make_sequence(pool.node.taints, toleration))},
         {"securityContext",
          make_mapping({{"runAsNonRoot", true},
                        {"runAsUser", 65535},
                        {"seccompProfile", make_mapping({{"type", "RuntimeDefault"}})}})},
         {"containers",
          std::vector{make_mapping(
              {{"name", "placeholder"},
               {"image", kPauseImage},
               {"resources", placeholder_resources(pool)},
               {"securityContext",
                make_mapping({{"allowPrivilegeEscalation", false},
                              {"capabilities",
                               make_mapping({{"drop", std::vector<std::string>{"ALL"}}})}})}})}}});
    const Value deployment = make_mapping(
        {{"apiVersion", "apps/v1"},
         {"kind", "Deployment"},
         {"metadata", make_mapping({{"name", name}})},
         {"spec", make_mapping({{"replicas", pods},
                                {"selector", make_mapping({{"matchLabels", selector}})},
                                {"template",
                                 make_mapping({{"metadata", make_mapping({{"labels", selector}})},
                                               {"spec", pod}})}})}});
    return {priority, deployment};
}

Value autoscaler_tags(const Pool& pool) {
    const std::string base = "k8s.io/cluster-autoscaler/node-template/";
    Value tags = make_mapping({{"k8s.io/cluster-autoscaler/enabled", "true"}});
    for (const auto& [key, value] : labels_of(pool).entries) {
        append(tags, base + "label/" + key.scalar, value.scalar);
    }
    for (const k8s::Taint& taint : pool.node.taints) {
        append(tags, base + "taint/" + taint.key, taint.value + ":" + taint.effect);
    }
    for (const auto& [resource, amount] : pool.node.amounts) {
        if (k8s::is_gpu_resource(resource))
            append(tags, base + "resources/" + resource, amount_text(amount));
    }
    append(tags, base + "autoscaling-options/scaledownunneededtime",
           duration_text(pool.scale_down_delay));
    return tags;
}

Outputs outputs_of(const Pool& pool, const Numbers& numbers) {
    Outputs outputs;
    switch (pool.engine) {
        case Engine::kKarpenterStatic:
            outputs.objects = node_pools(pool, numbers);
            outputs.remarks.emplace_back(
                "Karpenter must run with the feature gate StaticCapacity: without it it takes "
                "replicas and does nothing");
            return outputs;
        case Engine::kKarpenter:
            outputs.objects = node_pools(pool, numbers);
            if (outputs.objects.back().find("kind")->scalar == "NodeOverlay") {
                outputs.remarks.emplace_back(
                    "Karpenter must run with the feature gate NodeOverlay: without it it knows "
                    "nothing of shares and makes no node for them");
            }
            break;
        case Engine::kClusterAutoscaler:
            outputs.remarks.emplace_back("the node group needs its tags, " +
                                         std::to_string(autoscaler_tags(pool).entries.size()) +
                                         " of them, aliquot pool render --tags");
            break;
        case Engine::kExternal:
        case Engine::kPlaceholder:
            break;
    }
    for (Value& object : placeholders(pool, numbers.placeholders)) {
        outputs.objects.push_back(std::move(object));
    }
    return outputs;
}

}  // namespace aliquot::pools
