// SPDX-License-Identifier: Apache-2.0
#include "lint/facts.h"

#include "document/yaml.h"
#include "k8s/node.h"
#include "k8s/quantity.h"
#include "lint/object.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

std::string label(const NodeFacts& node, const std::string& key) {
    const auto found = node.labels.find(key);
    return found == node.labels.end() ? std::string() : found->second;
}

std::string joined(const NodeFacts& node, const std::string& stem,
                   std::initializer_list<const char*> parts) {
    std::string result;
    for (const char* part : parts) {
        const std::string text = label(node, stem + part);
        if (text.empty()) return result;
        result += (result.empty() ? "" : ".") + text;
    }
    return result;
}

NodeFacts read_node(const Value& object) {
    NodeFacts node;
    k8s::Node read = k8s::read_node(object);
    node.name = std::move(read.name);
    node.labels = std::move(read.labels);
    node.taints.assign(read.taints.begin(), read.taints.end());
    node.allocatable = std::move(read.allocatable);
    node.instance_type = label(node, "node.kubernetes.io/instance-type");
    node.gpu_product = label(node, "nvidia.com/gpu.product");
    node.gpu_memory_mib = k8s::quantity_value(label(node, "nvidia.com/gpu.memory"));
    node.compute_capability =
        k8s::quantity_value(joined(node, "nvidia.com/gpu.compute.", {"major", "minor"}));
    node.driver_version = label(node, "nvidia.com/cuda.driver-version.full");
    if (node.driver_version.empty()) {
        node.driver_version = joined(node, "nvidia.com/cuda.driver.", {"major", "minor", "rev"});
    }
    node.mig_strategy = label(node, "nvidia.com/mig.strategy");
    return node;
}

void read_object(const Value& object, Facts& facts, int depth) {
    constexpr int kDeepest = 4;
    const std::string kind = text_at(object, "kind");
    const std::string name = text_at(object, "metadata.name");
    if (kind.ends_with("List") && depth < kDeepest) {
        if (const Value* items = object.find("items")) {
            for (const Value& item : items->items) read_object(item, facts, depth + 1);
        }
    } else if (kind == "Node") {
        facts.nodes.push_back(read_node(object));
    } else if (kind == "RuntimeClass") {
        facts.runtime_classes.insert(name);
    } else if (kind == "DeviceClass") {
        facts.device_classes.insert(name);
    } else if (kind == "Namespace") {
        facts.namespaces.insert(name);
    } else if (kind == "CustomResourceDefinition") {
        facts.custom_kinds.insert(text_at(object, "spec.names.kind"));
    } else if (kind == "ConfigMap") {
        facts.config_maps[text_at(object, "metadata.namespace") + '/' + name] = name;
        if (name == "cluster-autoscaler-status") facts.autoscaler = true;
    } else if (kind == "NodePool" || kind == "Provisioner") {
        facts.autoscaler = true;
    }
}

}  // namespace

std::set<std::string, std::less<>> Facts::resources() const {
    std::set<std::string, std::less<>> names;
    for (const NodeFacts& node : nodes) {
        for (const auto& [name, amount] : node.allocatable) {
            if (amount > 0) names.insert(name);
        }
    }
    return names;
}

double Facts::total(std::string_view resource) const {
    double sum = 0;
    for (const NodeFacts& node : nodes) {
        const auto found = node.allocatable.find(std::string(resource));
        if (found != node.allocatable.end()) sum += found->second;
    }
    return sum;
}

Result<Facts> read_facts(std::string_view name, std::string_view text) {
    constexpr std::size_t kMostBytes = 256U << 20U;
    constexpr std::size_t kMostNodes = 4'000'000;
    const document::Stream stream = document::parse_yaml(text, {kMostBytes, kMostNodes, 64});
    if (!stream.errors.empty()) {
        const auto& error = stream.errors.front();
        return Error{ErrorCode::kInvalidInput,
                     std::string(name) + ':' + std::to_string(error.mark.line) + ": " +
                         error.message + "; expected the output of kubectl get nodes -o json"};
    }
    Facts facts;
    for (const Value& object : stream.documents) read_object(object, facts, 0);
    if (facts.nodes.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(name) +
                         ": holds no Node; expected the output of kubectl get nodes -o json"};
    }
    return facts;
}

}  // namespace aliquot::lint
