// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_node.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "k8s/pod.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "node/names.h"

namespace aliquot::node {
namespace {

using Json = nlohmann::json;

/// Devices are counted whole; anything else is none of them.
std::uint64_t count_of(const Json& quantity) {
    if (quantity.is_number_unsigned()) return quantity.get<std::uint64_t>();
    const auto read = quantity.is_string() ? k8s::Quantity::parse_field(quantity.get<std::string>())
                                           : std::nullopt;
    const auto count = read ? read->ones() : std::nullopt;
    return count && *count > 0 ? static_cast<std::uint64_t>(*count) : 0;
}

DeviceCounts devices_of(const Json& quantities) {
    DeviceCounts counts;
    if (!quantities.is_object()) return counts;
    for (const auto& [name, quantity] : quantities.items()) {
        if (k8s::is_nvidia_gpu(name)) counts[name] = count_of(quantity);
    }
    return counts;
}

std::string annotation(const GpuNode& node, const char* name) {
    const auto found = node.object.annotations.find(name);
    return found == node.object.annotations.end() ? "" : found->second;
}

void read_managers(const Json& metadata, GpuNode& node) {
    for (const Json& entry : member(metadata, "managedFields")) {
        if (text_at(entry, "operation") != "Apply" || !text_at(entry, "subresource").empty()) {
            continue;
        }
        const Json& labels = member(member(member(entry, "fieldsV1"), "f:metadata"), "f:labels");
        if (!labels.is_object()) continue;
        auto& owned = node.applied_labels[text_at(entry, "manager")];
        for (const auto& [key, value] : labels.items()) {
            if (key.starts_with("f:")) owned.push_back(key.substr(2));
        }
    }
}

k8s::Container container_of(const Json& container, bool init) {
    k8s::Container made{.init = init,
                        .sidecar = init && text_at(container, "restartPolicy") == "Always"};
    for (const char* const list : {"requests", "limits"}) {
        for (const auto& [name, count] : devices_of(member(member(container, "resources"), list))) {
            made.requests.emplace(name, static_cast<double>(count));
        }
    }
    return made;
}

}  // namespace

std::vector<std::string> GpuNode::labels_of(std::string_view manager) const {
    const auto found = applied_labels.find(std::string(manager));
    return found == applied_labels.end() ? std::vector<std::string>() : found->second;
}

bool GpuNode::has_gpus() const {
    const auto some = [](const auto& one) { return one.second > 0; };
    return !gpus.empty() || std::ranges::any_of(capacity, some) ||
           object.label("nvidia.com/gpu.present") == "true";
}

unsigned GpuNode::unhealthy_gpus() const {
    return static_cast<unsigned>(
        std::ranges::count_if(gpus, [](const GpuStatus& gpu) { return !gpu.healthy; }));
}

std::string GpuNode::models() const {
    std::map<std::string, unsigned> counts;
    for (const GpuStatus& gpu : gpus) ++counts[gpu.model];
    std::string text;
    for (const auto& [model, count] : counts) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + "x " + model;
    }
    if (!text.empty()) return text;
    const auto product = object.label("nvidia.com/gpu.product");
    const auto count = object.label("nvidia.com/gpu.count");
    if (!product) return "";
    return (count ? *count + "x " : "") + *product;
}

bool GpuNode::is_well() const {
    const auto bad = [&](const char* type) {
        const auto* const found = object.find(type);
        return found != nullptr && !found->condition.good;
    };
    return unhealthy_gpus() == 0 && !bad(kGpuHealthy) && !bad(kGpuConfigServed) &&
           !bad(kMigConfigServed);
}

Result<GpuNode> read_gpu_node(std::string_view json) {
    auto object = read_node(json);
    if (!object) return std::move(object).error();
    const Json root = Json::parse(json, nullptr, false);
    GpuNode node{.object = *std::move(object)};
    const Json& status = member(root, "status");
    const Json& cordoned = member(member(root, "spec"), "unschedulable");
    node.cordoned = cordoned.is_boolean() && cordoned.get<bool>();
    node.kubelet = text_at(member(status, "nodeInfo"), "kubeletVersion");
    node.capacity = devices_of(member(status, "capacity"));
    node.allocatable = devices_of(member(status, "allocatable"));
    const auto* const ready = node.object.find("Ready");
    node.ready = ready != nullptr && ready->condition.good;
    node.agent = annotation(node, kAgent);
    node.gpus = parse_gpu_statuses(annotation(node, kGpus)).value_or(std::vector<GpuStatus>());
    node.shares =
        parse_share_statuses(annotation(node, kShares)).value_or(std::vector<ShareStatus>());
    node.config = parse_config_status(annotation(node, kConfig));
    node.mig_problem = annotation(node, kMigProblem);
    read_managers(member(root, "metadata"), node);
    return node;
}

std::optional<Holder> read_holder(std::string_view pod_json) {
    const Json root = Json::parse(pod_json, nullptr, false);
    const std::string phase = text_at(member(root, "status"), "phase");
    if (phase == "Succeeded" || phase == "Failed") return std::nullopt;
    const Json& metadata = member(root, "metadata");
    const Json& spec = member(root, "spec");
    Holder holder{.pod = text_at(metadata, "namespace") + "/" + text_at(metadata, "name"),
                  .node = text_at(spec, "nodeName")};
    if (holder.node.empty()) return std::nullopt;
    std::vector<k8s::Container> containers;
    for (const char* const list : {"initContainers", "containers"}) {
        for (const Json& one : member(spec, list))
            containers.push_back(container_of(one, *list == 'i'));
    }
    for (const auto& [name, count] : k8s::requests_of(containers)) {
        if (count > 0) holder.devices[name] = static_cast<std::uint64_t>(count);
    }
    if (holder.devices.empty()) return std::nullopt;
    return holder;
}

}  // namespace aliquot::node
