// SPDX-License-Identifier: Apache-2.0
#include "admission/gpu_node.h"

#include <algorithm>
#include <functional>

#include "base/number.h"
#include "catalog/mig_profiles.h"
#include "document/json.h"
#include "document/path.h"
#include "grant/mechanism.h"
#include "k8s/node.h"

namespace aliquot::admission {
namespace {

using document::Value;

constexpr std::string_view kDomain = "nvidia.com/";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kShared = ".shared";
constexpr unsigned kWholeGpu = 100;
constexpr std::size_t kMostShares = 64;

unsigned number_at(const Value& object, std::string_view key) {
    constexpr unsigned kMost = 1'000'000'000;
    const Value* const value = object.find(key);
    if (value == nullptr || value->kind != Value::Kind::kInteger) return 0;
    return static_cast<unsigned>(
        std::min<std::uint64_t>(parse_number<std::uint64_t>(value->scalar).value_or(0), kMost));
}

unsigned label_number(const Labels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? 0 : parse_number<unsigned>(found->second).value_or(0);
}

/// Compute of a MIG device, in percent of its GPU, by the catalogue's slices.
unsigned mig_percent(const catalog::GpuModel* model, std::string_view resource) {
    if (model == nullptr || !resource.starts_with(kMigPrefix)) return 0;
    std::string_view name = resource.substr(kMigPrefix.size());
    if (name.ends_with(kShared)) name.remove_suffix(kShared.size());
    const auto* const profile = catalog::find_mig_profile(*model, name);
    unsigned most = 0;
    for (const catalog::MigProfile& one : catalog::mig_profiles(*model)) {
        most = std::max(most, one.slices);
    }
    return profile == nullptr || most == 0 ? 0 : kWholeGpu * profile->slices / most;
}

/// What one unit has of a device, when nothing says it.
void fill_compute(Share& share, unsigned of_device) {
    if (share.compute_percent == 0) share.compute_percent = of_device / std::max(1U, share.per_gpu);
}

/// Joins a row of the annotation: what differs counts as the smallest.
void join(std::vector<Share>& shares, Share row) {
    const auto same = std::ranges::find(shares, row.resource, &Share::resource);
    if (same == shares.end()) {
        shares.push_back(std::move(row));
        return;
    }
    same->devices += row.devices;
    same->per_gpu = std::max(same->per_gpu, row.per_gpu);
    same->mig = same->mig || row.mig;
    same->is_limited = same->is_limited && row.is_limited;
    same->memory_mib = std::min(same->memory_mib, row.memory_mib);
    same->compute_percent = std::min(same->compute_percent, row.compute_percent);
}

/// The annotation of our agent. False: there is none that can be read.
bool read_annotation(const std::string& text, GpuNode& node) {
    const auto rows = document::parse_json(text);
    if (!rows || !rows->is_sequence()) return false;
    const unsigned gpu_memory = label_number(node.labels, kMemoryLabel);
    for (const Value& row : rows->items) {
        if (node.shares.size() >= kMostShares) break;
        const grant::Mechanism mechanism = grant::parse_node_text(text_at(row, {"mechanism"}));
        Share share{.resource = text_at(row, {"resource"}),
                    .devices = number_at(row, "devices"),
                    .per_gpu = std::max(1U, number_at(row, "perGpu")),
                    .memory_mib = number_at(row, "memoryMiB"),
                    .compute_percent = number_at(row, "computePercent")};
        if (share.resource.empty()) continue;
        share.mig = mechanism == grant::Mechanism::kMig || share.resource.starts_with(kMigPrefix);
        // Of what has no limit the whole device is told.
        const bool is_whole_device =
            mechanism == grant::Mechanism::kTimeSlicing ||
            (share.per_gpu > 1 && gpu_memory > 0 &&
             std::uint64_t{share.memory_mib} * share.per_gpu > std::uint64_t{gpu_memory} * 21 / 20);
        share.is_limited = !is_whole_device;
        if (is_whole_device) share.memory_mib /= share.per_gpu;
        const unsigned slice = share.mig ? mig_percent(node.model, share.resource) : kWholeGpu;
        fill_compute(share, slice);
        join(node.shares, std::move(share));
    }
    return true;
}

/// What gpu-feature-discovery's labels say of one resource of the node. prefix "nvidia.com/gpu"
Share share_of_labels(const GpuNode& node, const std::string& resource, const std::string& prefix) {
    const auto strategy = node.labels.find(prefix + ".sharing-strategy");
    const unsigned replicas = std::max(1U, label_number(node.labels, prefix + ".replicas"));
    const auto product = node.labels.find(prefix + ".product");
    Share share{.resource = resource,
                .per_gpu = replicas,
                .mig = resource.starts_with(kMigPrefix) ||
                       (product != node.labels.end() && product->second.contains("-MIG-")),
                .is_limited = strategy == node.labels.end() ||
                              strategy->second != grant::label_text(grant::Mechanism::kTimeSlicing),
                .memory_mib = label_number(node.labels, prefix + ".memory") / replicas};
    fill_compute(share, share.mig ? mig_percent(node.model, resource) : kWholeGpu);
    return share;
}

void read_labels(const k8s::Amounts& allocatable, GpuNode& node) {
    for (const auto& [resource, amount] : allocatable) {
        if (!resource.starts_with(kDomain) || node.shares.size() >= kMostShares) continue;
        std::string prefix = resource;
        if (prefix.ends_with(kShared)) prefix.resize(prefix.size() - kShared.size());
        if (prefix != "nvidia.com/gpu" && !prefix.starts_with(kMigPrefix)) continue;
        node.shares.push_back(share_of_labels(node, resource, prefix));
    }
}

/// The most that kubelet has or the agent offers: what is away for a moment is still asked for.
void take_amounts(const k8s::Node& object, GpuNode& node) {
    constexpr std::uint64_t kMost = 1'000'000'000;
    for (Share& share : node.shares) {
        for (const k8s::Amounts* const amounts : {&object.allocatable, &object.capacity}) {
            const auto count = std::min(k8s::count_of(*amounts, share.resource), kMost);
            share.devices = std::max(share.devices, static_cast<unsigned>(count));
        }
    }
    std::ranges::sort(node.shares, {}, &Share::resource);
}

std::uint64_t kind_of(const GpuNode& node) {
    std::string text;
    for (const char* const key : {kProductLabel, kMemoryLabel, kReplicasLabel}) {
        const auto found = node.labels.find(key);
        text += found == node.labels.end() ? "\n" : "=" + found->second + "\n";
    }
    for (const Share& share : node.shares) {
        text += share.resource;
        for (const unsigned number :
             {share.devices, share.per_gpu, unsigned{share.mig}, unsigned{share.is_limited},
              share.memory_mib, share.compute_percent}) {
            text += " " + std::to_string(number);
        }
        text += "\n";
    }
    return std::hash<std::string>{}(text);
}

}  // namespace

std::string_view plain_product(std::string_view label) {
    constexpr std::string_view kSharedMark = "-SHARED";
    if (label.ends_with(kSharedMark)) label.remove_suffix(kSharedMark.size());
    return label.substr(0, label.find("-MIG-"));
}

std::optional<GpuNode> read_node(std::string_view json) {
    auto object = k8s::parse_node(json);
    if (!object) return std::nullopt;
    GpuNode node{.name = object->name, .labels = std::move(object->labels)};
    if (const auto product = node.labels.find(kProductLabel); product != node.labels.end()) {
        node.product = plain_product(product->second);
        const bool is_mig = product->second.contains("-MIG-");
        node.model = catalog::find_gpu_model(node.product,
                                             is_mig ? 0 : label_number(node.labels, kMemoryLabel));
    }
    const auto told = object->annotations.find("aliquot.dev/shares");
    if (told == object->annotations.end() || !read_annotation(told->second, node)) {
        read_labels(object->allocatable, node);
    }
    take_amounts(*object, node);
    if (node.shares.empty()) return std::nullopt;
    node.kind = kind_of(node);
    return node;
}

}  // namespace aliquot::admission
