// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/share_accounts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "gpu/replica_id.h"
#include "k8s/memory_amount.h"

namespace aliquot::sim::cluster {
namespace {

const sharing::OfferedGpu* find_offered(const sharing::Offer& offer, const std::string& resource,
                                        const std::string& uuid) {
    for (const sharing::Resource& each : offer.resources) {
        if (each.name != resource) continue;
        for (const sharing::OfferedGpu& gpu : each.gpus) {
            if (gpu.uuid().text == uuid) return &gpu;
        }
    }
    return nullptr;
}

std::string share_text(const sharing::OfferedGpu& gpu, unsigned count) {
    const std::string device = gpu.mig ? gpu.mig->profile : "whole";
    if (gpu.replicas <= 1) return device;
    std::string text = gpu.mig ? device + ", " : "";
    text += std::to_string(count) + " of " + std::to_string(gpu.replicas);
    const grant::Limits limits = sharing::share_of(gpu, count).limits;
    if (limits.memory_bytes) text += ", " + k8s::bytes_text(*limits.memory_bytes);
    if (limits.compute_percent) text += ", " + std::to_string(*limits.compute_percent) + "%";
    return text;
}

/// A label value: other characters are dropped, blanks become '-'.
std::string label_value(const std::string& text) {
    std::string value;
    for (const char c : text) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool kept = letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (kept) value += c;
        if (c == ' ' && !value.ends_with('-')) value += '-';
    }
    return value;
}

std::string family_of(const gpu::Gpu& gpu) {
    switch (gpu.compute_major) {
        case 6:
            return "pascal";
        case 7:
            return gpu.compute_minor >= 5 ? "turing" : "volta";
        case 8:
            return gpu.compute_minor >= 9 ? "ada-lovelace" : "ampere";
        case 9:
            return "hopper";
        case 10:
        case 12:
            return "blackwell";
        default:
            return "undefined";
    }
}

}  // namespace

DeviceWords describe_devices(const HeldDevices& devices, const sharing::Offer& offer) {
    struct Held {
        const sharing::OfferedGpu* gpu = nullptr;
        unsigned count = 0;
    };
    std::map<std::pair<unsigned, unsigned>, Held> held;  // by index: GPU, and MIG device from 1
    for (const auto& resource : devices) {
        for (const std::string& id : resource.second) {
            const auto* const gpu =
                find_offered(offer, resource.first, std::string(gpu::device_of(id)));
            if (gpu == nullptr) continue;
            Held& device = held[{gpu->gpu.index, gpu->mig ? gpu->mig->index + 1 : 0}];
            device.gpu = gpu;
            ++device.count;
        }
    }
    DeviceWords words;
    std::string indices;
    std::set<std::string> models;
    std::set<std::string> shares;
    for (const auto& each : held) {
        const std::string& uuid = each.second.gpu->gpu.uuid.text;
        if (words.gpus.empty() || words.gpus.back() != uuid) words.gpus.push_back(uuid);
        indices += (indices.empty() ? "" : ", ") + each.second.gpu->index_text();
        models.insert(each.second.gpu->gpu.model);
        shares.insert(share_text(*each.second.gpu, each.second.count));
    }
    words.gpu = held.empty() ? "-" : indices + (models.size() == 1 ? " " + *models.begin() : "");
    if (held.empty()) words.share = "-";
    for (const std::string& share : shares) {
        words.share += (words.share.empty() ? "" : " + ") + share;
    }
    if (held.size() > 1)
        words.share = std::to_string(held.size()) +
                      (held.begin()->second.gpu->mig ? " devices, " : " GPUs, ") + words.share;
    return words;
}

std::string gpu_text(const std::vector<std::string>& uuids, const gpu::Inventory& inventory) {
    std::vector<std::string> indices;
    std::set<std::string> models;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const auto named = [&](const gpu::Uuid& uuid) {
            return std::ranges::find(uuids, uuid.text) != uuids.end();
        };
        if (named(gpu.uuid)) indices.push_back(std::to_string(gpu.index));
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            if (named(device.uuid))
                indices.push_back(std::to_string(gpu.index) + ":" + std::to_string(device.index));
        }
        if (!indices.empty()) models.insert(gpu.model);
    }
    if (indices.empty()) return "-";
    return join(indices, ", ") + (models.size() == 1 ? " " + *models.begin() : "");
}

unsigned shares_of(const gpu::Uuid& gpu, const sharing::Offer& offer) {
    unsigned shares = 0;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& each : resource.gpus) {
            if (each.gpu.uuid == gpu) shares += each.replicas;
        }
    }
    return shares;
}

unsigned shares_used(const gpu::Gpu& gpu, const std::map<std::string, unsigned>& used) {
    const auto held = [&used](const std::string& uuid) {
        const auto found = used.find(uuid);
        return found == used.end() ? 0U : found->second;
    };
    unsigned count = held(gpu.uuid.text);
    for (const gpu::MigDevice& device : gpu.mig_devices) count += held(device.uuid.text);
    return count;
}

Labels node_labels(const gpu::Inventory& inventory, const sharing::Offer& offer,
                   const std::string& node_name) {
    Labels labels {
        {"kubernetes.io/hostname", node_name}, {"kubernetes.io/os", "linux"},
#if defined(__aarch64__)
            {"kubernetes.io/arch", "arm64"},
#else
            {"kubernetes.io/arch", "amd64"},
#endif
        {
            "nvidia.com/gpu.present", "true"
        }
    };
    if (inventory.gpus.empty()) return labels;
    const gpu::Gpu& first = inventory.gpus.front();
    const auto same_model = [&](const gpu::Gpu& gpu) { return gpu.model == first.model; };
    bool renamed = true;
    unsigned replicas = 1;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& gpu : resource.gpus) {
            if (gpu.gpu.uuid != first.uuid) continue;
            replicas = gpu.replicas;
            renamed = resource.name != "nvidia.com/gpu";
        }
    }
    const bool shared = replicas > 1;
    labels["nvidia.com/gpu.product"] =
        label_value(first.model) + (shared && !renamed ? "-SHARED" : "");
    labels["nvidia.com/gpu.count"] =
        std::to_string(std::ranges::count_if(inventory.gpus, same_model));
    labels["nvidia.com/gpu.replicas"] = std::to_string(replicas);
    labels["nvidia.com/gpu.sharing-strategy"] = shared ? "time-slicing" : "none";
    constexpr std::uint64_t kMebibyte = 1U << 20U;
    labels["nvidia.com/gpu.memory"] = std::to_string(first.memory_bytes / kMebibyte);
    if (first.compute_major > 0) {
        labels["nvidia.com/gpu.family"] = family_of(first);
        labels["nvidia.com/gpu.compute.major"] = std::to_string(first.compute_major);
        labels["nvidia.com/gpu.compute.minor"] = std::to_string(first.compute_minor);
    }
    return labels;
}

}  // namespace aliquot::sim::cluster
