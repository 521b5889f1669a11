// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "labels/features.h"

namespace aliquot::labels {
namespace {

/// What a MIG device has, under `prefix`.
void add_attributes(const gpu::MigDevice& device, const std::string& prefix, Labels& labels) {
    const auto put = [&](const char* name, std::uint64_t value) {
        labels[prefix + name] = std::to_string(value);
    };
    put(".memory", device.memory_bytes >> 20U);
    put(".multiprocessors", device.multiprocessors);
    put(".slices.gi", device.gpu_slices);
    put(".slices.ci", device.compute_slices);
    put(".engines.copy", device.copy_engines);
    put(".engines.decoder", device.decoders);
    put(".engines.encoder", device.encoders);
    put(".engines.jpeg", device.jpeg_engines);
    put(".engines.ofa", device.optical_flow_engines);
}

/// The form of a profile in a label's key: "1g.10gb+me" is "1g.10gb.me".
std::string key_of(std::string profile) {
    std::ranges::replace(profile, '+', '.');
    return profile;
}

Shared shared_profile(const NodeFacts& facts, const gpu::MigDevice& device, std::string_view name) {
    return shared_of(facts.offer, device.uuid, name);
}

}  // namespace

void add_single_mig(const NodeFacts& facts, const gpu::Gpu& gpu, Labels& labels) {
    std::set<std::string> profiles;
    bool cut = false;
    bool uncut = false;
    bool empty = false;
    const gpu::MigDevice* first = nullptr;
    std::size_t count = 0;
    for (const gpu::Gpu& one : facts.inventory.gpus) {
        (one.mig_enabled ? cut : uncut) = true;
        empty = empty || (one.mig_enabled && one.mig_devices.empty());
        for (const gpu::MigDevice& device : one.mig_devices) {
            profiles.insert(device.profile);
            if (first == nullptr) first = &device;
            ++count;
        }
    }
    if (!cut) return;
    // Nothing that can be said in one word: NVIDIA's label for it.
    if (uncut || empty || profiles.size() != 1) {
        labels["nvidia.com/gpu.product"] = label_value(gpu.model + "-MIG-INVALID");
        labels["nvidia.com/gpu.count"] = "0";
        labels["nvidia.com/gpu.replicas"] = "0";
        labels["nvidia.com/gpu.memory"] = "0";
        labels["nvidia.com/gpu.sharing-strategy"] = "";
        return;
    }
    const Shared shared = shared_profile(facts, *first, "nvidia.com/gpu");
    labels["nvidia.com/gpu.product"] =
        product(gpu.model + "-MIG-" + key_of(first->profile), shared);
    labels["nvidia.com/gpu.count"] = std::to_string(count);
    labels["nvidia.com/gpu.replicas"] = std::to_string(shared.replicas);
    labels["nvidia.com/gpu.sharing-strategy"] = grant::label_text(shared.mechanism);
    add_attributes(*first, "nvidia.com/gpu", labels);
}

void add_mixed_mig(const NodeFacts& facts, Labels& labels) {
    std::map<std::string, unsigned> counts;
    for (const gpu::Gpu& gpu : facts.inventory.gpus) {
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            const std::string name = "nvidia.com/mig-" + key_of(device.profile);
            if (++counts[name] > 1) continue;
            const Shared shared = shared_profile(facts, device, name);
            labels[name + ".product"] =
                product(gpu.model + "-MIG-" + key_of(device.profile), shared);
            labels[name + ".replicas"] = std::to_string(shared.replicas);
            labels[name + ".sharing-strategy"] = grant::label_text(shared.mechanism);
            add_attributes(device, name, labels);
        }
    }
    for (const auto& [name, count] : counts) labels[name + ".count"] = std::to_string(count);
}

}  // namespace aliquot::labels
