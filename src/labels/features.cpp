// SPDX-License-Identifier: Apache-2.0
#include "labels/features.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu/architecture.h"

namespace aliquot::labels {
namespace {

constexpr std::string_view kWhole = "nvidia.com/gpu";

/// The parts of "580.65.06".
std::array<std::string, 3> version_parts(const std::string& version) {
    std::array<std::string, 3> parts;
    std::size_t from = 0;
    for (std::string& part : parts) {
        if (from > version.size()) break;
        const std::size_t dot = std::min(version.find('.', from), version.size());
        part = version.substr(from, dot - from);
        from = dot + 1;
    }
    return parts;
}

void add_versions(const gpu::Inventory& inventory, Labels& labels) {
    if (!inventory.driver_version.empty()) {
        const auto [major, minor, revision] = version_parts(inventory.driver_version);
        labels["nvidia.com/cuda.driver.major"] = major;
        labels["nvidia.com/cuda.driver.minor"] = minor;
        labels["nvidia.com/cuda.driver.rev"] = revision;
        labels["nvidia.com/cuda.driver-version.major"] = major;
        labels["nvidia.com/cuda.driver-version.minor"] = minor;
        labels["nvidia.com/cuda.driver-version.revision"] = revision;
        labels["nvidia.com/cuda.driver-version.full"] = inventory.driver_version;
    }
    if (inventory.cuda_version > 0) {
        const std::string major = std::to_string(inventory.cuda_version / 1000);
        const std::string minor = std::to_string(inventory.cuda_version % 1000 / 10);
        labels["nvidia.com/cuda.runtime.major"] = major;
        labels["nvidia.com/cuda.runtime.minor"] = minor;
        labels["nvidia.com/cuda.runtime-version.major"] = major;
        labels["nvidia.com/cuda.runtime-version.minor"] = minor;
        labels["nvidia.com/cuda.runtime-version.full"] = major + "." + minor;
    }
}

/// "compute" where all GPUs are 3D controllers, "graphics" where all are VGA controllers.
std::string mode_of(const NodeFacts& facts) {
    constexpr std::uint32_t kVga = 0x0300;
    constexpr std::uint32_t k3d = 0x0302;
    std::string mode;
    for (const gpu::Gpu& gpu : facts.inventory.gpus) {
        const auto found = facts.pci_class.find(gpu.uuid);
        if (found == facts.pci_class.end()) return "unknown";
        const std::uint32_t kind = found->second >> 8U;
        if (kind != kVga && kind != k3d) return "unknown";
        const std::string one = kind == kVga ? "graphics" : "compute";
        if (!mode.empty() && mode != one) return "unknown";
        mode = one;
    }
    return mode.empty() ? "unknown" : mode;
}

/// The labels of whole GPUs of one model.
void add_whole(const NodeFacts& facts, const gpu::Gpu& gpu, Labels& labels) {
    const auto of_model = [&](const gpu::Gpu& one) { return one.model == gpu.model; };
    Shared shared = shared_of(facts.offer, gpu.uuid, kWhole);
    // Of several GPUs of one model the best shared one says how; a GPU in MIG mode is not shared.
    for (const gpu::Gpu& one : facts.inventory.gpus) {
        if (!of_model(one) || one.mig_enabled) continue;
        const Shared other = shared_of(facts.offer, one.uuid, kWhole);
        if (gpu.mig_enabled || other.replicas > shared.replicas) shared = other;
    }
    const bool all_cut = std::ranges::all_of(facts.inventory.gpus, [&](const gpu::Gpu& one) {
        return !of_model(one) || one.mig_enabled;
    });
    labels["nvidia.com/gpu.product"] = product(gpu.model, shared);
    labels["nvidia.com/gpu.count"] =
        std::to_string(std::ranges::count_if(facts.inventory.gpus, of_model));
    labels["nvidia.com/gpu.replicas"] = std::to_string(all_cut ? 0 : shared.replicas);
    labels["nvidia.com/gpu.sharing-strategy"] = grant::label_text(shared.mechanism);
    if (gpu.memory_bytes != 0) {
        labels["nvidia.com/gpu.memory"] = std::to_string(gpu.memory_bytes >> 20U);
    }
    const std::string_view family = gpu::architecture_of(gpu.compute_major, gpu.compute_minor);
    labels["nvidia.com/gpu.family"] = family.empty() ? "undefined" : family;
    labels["nvidia.com/gpu.compute.major"] = std::to_string(gpu.compute_major);
    labels["nvidia.com/gpu.compute.minor"] = std::to_string(gpu.compute_minor);
}

}  // namespace

Shared shared_of(const sharing::Offer& offer, const gpu::Uuid& uuid, std::string_view name) {
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& one : resource.gpus) {
            if (one.uuid() != uuid || one.replicas <= 1) continue;
            return {.replicas = one.replicas,
                    .mechanism = one.mechanism(),
                    .renamed = resource.name != name};
        }
    }
    return {};
}

const gpu::Gpu* representative(const gpu::Inventory& inventory) {
    std::map<std::string_view, unsigned> counts;
    for (const gpu::Gpu& gpu : inventory.gpus) ++counts[gpu.model];
    const gpu::Gpu* best = nullptr;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.model.empty()) continue;
        if (best == nullptr || counts[gpu.model] > counts[best->model]) best = &gpu;
    }
    return best;
}

std::string product(const std::string& model, const Shared& shared) {
    const bool told = shared.replicas > 1 && !shared.renamed;
    constexpr std::string_view kShared = "-SHARED";
    std::string value = label_value(model);
    if (!told) return value;
    value.resize(std::min(value.size(), 63 - kShared.size()));
    return value.append(kShared);
}

Labels feature_labels(const NodeFacts& facts) {
    Labels labels;
    const gpu::Gpu* const gpu = representative(facts.inventory);
    if (gpu == nullptr) return labels;
    add_versions(facts.inventory, labels);
    const std::string machine = label_value(facts.machine);
    labels["nvidia.com/gpu.machine"] = machine.empty() ? "unknown" : machine;
    labels["nvidia.com/gpu.mode"] = mode_of(facts);
    const auto any = [&](auto&& holds) { return std::ranges::any_of(facts.inventory.gpus, holds); };
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    labels["nvidia.com/mig.capable"] = text(any(&gpu::Gpu::mig_capable));
    labels["nvidia.com/vgpu.present"] = text(any(
        [](const gpu::Gpu& one) { return one.virtualization == gpu::Virtualization::kVgpuGuest; }));
    labels["nvidia.com/mps.capable"] =
        text(std::ranges::any_of(facts.offer.resources, [](const sharing::Resource& resource) {
            return std::ranges::any_of(resource.gpus, &sharing::OfferedGpu::by_mps);
        }));
    add_whole(facts, *gpu, labels);
    if (facts.mig_strategy == sharing::MigStrategy::kNone || !any(&gpu::Gpu::mig_capable)) {
        return labels;
    }
    const bool single = facts.mig_strategy == sharing::MigStrategy::kSingle;
    labels["nvidia.com/mig.strategy"] = single ? "single" : "mixed";
    if (single) add_single_mig(facts, *gpu, labels);
    if (!single) add_mixed_mig(facts, labels);
    return labels;
}

}  // namespace aliquot::labels
