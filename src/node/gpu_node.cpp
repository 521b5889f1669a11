// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_node.h"

#include <algorithm>

#include "base/sentence.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"
#include "node/names.h"

namespace aliquot::node {
namespace {

using document::Value;

DeviceCounts devices_of(const k8s::Amounts& amounts) {
    DeviceCounts counts;
    for (const auto& [name, amount] : amounts) {
        if (k8s::is_nvidia_gpu(name)) counts[name] = k8s::whole(amount);
    }
    return counts;
}

std::string annotation(const GpuNode& node, const char* name) {
    const auto found = node.object.annotations.find(name);
    return found == node.object.annotations.end() ? "" : found->second;
}

void read_managers(const Value& object, GpuNode& node) {
    for (const Value& entry : items_at(object, {"metadata", "managedFields"})) {
        if (text_at(entry, {"operation"}) != "Apply" || !text_at(entry, {"subresource"}).empty()) {
            continue;
        }
        const auto& labels = entries_at(entry, {"fieldsV1", "f:metadata", "f:labels"});
        if (labels.empty()) continue;
        auto& owned = node.applied_labels[text_at(entry, {"manager"})];
        for (const Value::Entry& label : labels) {
            if (label.first.scalar.starts_with("f:")) owned.push_back(label.first.scalar.substr(2));
        }
    }
}

/// "2x NVIDIA A2" of GPUs that are published whole; of parts nobody says how many GPUs they are of.
std::string published_models(const std::vector<ClaimDevice>& devices) {
    std::map<std::string, unsigned> counts;
    for (const ClaimDevice& device : devices) {
        if (device.kind == "gpu" && device.published && !device.model.empty()) {
            ++counts[device.model];
        }
    }
    return listed(counts, [](const auto& entry) {
        return std::to_string(entry.second) + "x " + entry.first;
    });
}

}  // namespace

std::vector<std::string> GpuNode::labels_of(std::string_view manager) const {
    const auto found = applied_labels.find(std::string(manager));
    return found == applied_labels.end() ? std::vector<std::string>() : found->second;
}

bool GpuNode::has_gpus() const {
    const auto some = [](const auto& one) { return one.second > 0; };
    return !gpus.empty() || !claim_devices.empty() || std::ranges::any_of(capacity, some) ||
           object.label("nvidia.com/gpu.present") == "true";
}

unsigned GpuNode::unhealthy_gpus() const {
    return static_cast<unsigned>(
        std::ranges::count_if(gpus, [](const GpuStatus& gpu) { return !gpu.healthy; }));
}

std::string GpuNode::models() const {
    std::map<std::string, unsigned> counts;
    for (const GpuStatus& gpu : gpus) ++counts[gpu.model];
    std::string text = listed(counts, [](const auto& entry) {
        return std::to_string(entry.second) + "x " + entry.first;
    });
    if (!text.empty()) return text;
    text = published_models(claim_devices);
    if (!text.empty()) return text;
    const auto product = object.label("nvidia.com/gpu.product");
    const auto count = object.label("nvidia.com/gpu.count");
    if (!product) return "";
    return (count ? *count + "x " : "") + *product;
}

bool GpuNode::is_well() const {
    const auto bad = [&](const char* type) {
        const auto* const found = object.find(type);
        return found != nullptr && !found->is_true() && found->reason != kConfigPending;
    };
    return unhealthy_gpus() == 0 && !bad(kGpuHealthy) && !bad(kGpuConfigServed) &&
           !bad(kMigConfigServed);
}

Result<GpuNode> read_gpu_node(std::string_view json) {
    const auto root = document::parse_json(json);
    auto object = k8s::named_node(root ? *root : Value{});
    if (!object) return std::move(object).error();
    GpuNode node{.object = *std::move(object)};
    node.capacity = devices_of(node.object.capacity);
    node.allocatable = devices_of(node.object.allocatable);
    node.agent = annotation(node, kAgent);
    node.gpus = parse_gpu_statuses(annotation(node, kGpus)).value_or(std::vector<GpuStatus>());
    node.shares =
        parse_share_statuses(annotation(node, kShares)).value_or(std::vector<ShareStatus>());
    node.config = parse_config_status(annotation(node, kConfig));
    node.mig_problem = annotation(node, kMigProblem);
    read_managers(*root, node);
    return node;
}

std::optional<Holder> read_holder(std::string_view pod_json) {
    const auto pod = k8s::parse_pod(pod_json);
    if (!pod || pod->is_finished() || pod->where.node_name.empty()) return std::nullopt;
    Holder holder{.pod = pod->name_space + "/" + pod->name, .node = pod->where.node_name};
    for (const auto& [name, count] : devices_of(pod->requests())) {
        if (count > 0) holder.devices[name] = count;
    }
    if (holder.devices.empty()) return std::nullopt;
    return holder;
}

void add_claimed(const GpuNode& node, std::vector<Holder>& holders) {
    for (const ClaimDevice& device : node.claim_devices) {
        for (const ClaimShare& share : device.held) {
            for (const std::string& pod : share.pods) {
                auto holder = std::ranges::find(holders, pod, &Holder::pod);
                if (holder == holders.end()) {
                    holders.push_back({.pod = pod, .node = node.name(), .devices = {}});
                    holder = std::prev(holders.end());
                }
                holder->claimed.push_back({.claim = share.claim,
                                           .driver = device.driver,
                                           .device = device.name,
                                           .takes = share.takes});
            }
        }
    }
}

}  // namespace aliquot::node
