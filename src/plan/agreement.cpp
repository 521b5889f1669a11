// SPDX-License-Identifier: Apache-2.0
#include "plan/agreement.h"

#include <algorithm>
#include <map>

#include "base/units.h"
#include "catalog/gpu_models.h"
#include "sharing/config_file.h"
#include "sharing/offer.h"

namespace aliquot::plan {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

gpu::Gpu gpu_of(const GpuUse& use, unsigned index, const std::vector<Share>& shares) {
    gpu::Gpu gpu;
    gpu.index = index;
    gpu.uuid.text = "GPU-" + std::to_string(index);
    gpu.memory_bytes = static_cast<std::uint64_t>(use.memory_mib * kBytesPerMib);
    const catalog::GpuModel* const model = catalog::find_gpu_model(use.model);
    gpu.model = model != nullptr ? std::string(model->name) : use.model;
    gpu.compute_major = model != nullptr ? model->compute.major() : 7;
    gpu.compute_minor = model != nullptr ? model->compute.minor() : 0;
    gpu.mig_capable = use.mode == Mode::kMig;
    gpu.mig_enabled = gpu.mig_capable;
    if (!gpu.mig_enabled) return gpu;
    for (const std::size_t at : use.shares) {
        gpu::MigDevice device;
        device.index = static_cast<unsigned>(gpu.mig_devices.size());
        device.uuid.text = "MIG-" + std::to_string(index) + '-' + std::to_string(device.index);
        device.profile = shares[at].profile;
        device.memory_bytes = static_cast<std::uint64_t>(shares[at].memory_mib * kBytesPerMib);
        gpu.mig_devices.push_back(std::move(device));
    }
    return gpu;
}

}  // namespace

std::string objection_of_agent(std::string_view config, const std::vector<const GpuUse*>& gpus,
                               const std::vector<Share>& shares) {
    const auto checked =
        sharing::check_config_file("sharing.yaml", config, sharing::Compatibility::kStrict);
    if (checked.configs.size() != 1) {
        return checked.findings.empty() ? "it holds no configuration"
                                        : checked.findings.front().message;
    }
    gpu::Inventory inventory;
    std::map<std::string, std::size_t> wanted;  // devices by resource
    const GpuUse* any = nullptr;
    for (const GpuUse* const use : gpus) any = any == nullptr ? use : any;
    if (any == nullptr) return {};
    for (unsigned i = 0; i < gpus.size(); ++i) {
        if (gpus[i] == nullptr) {  // as its sisters, and whole
            GpuUse whole = *any;
            whole.mode = Mode::kExclusive;
            inventory.gpus.push_back(gpu_of(whole, i, shares));
            continue;
        }
        inventory.gpus.push_back(gpu_of(*gpus[i], i, shares));
        const bool one = gpus[i]->mode == Mode::kExclusive || gpus[i]->mode == Mode::kSerial;
        if (gpus[i]->shares.empty()) continue;
        wanted[shares[gpus[i]->shares.front()].resource] += one ? 1 : 0;
        for (const std::size_t at : gpus[i]->shares) {
            if (!one) ++wanted[shares[at].resource];
        }
    }
    const auto offer = sharing::make_offer(checked.configs.front().config, inventory);
    if (!offer) return offer.error().message;
    for (const auto& [name, count] : wanted) {
        if (name.empty()) continue;
        const auto found = std::ranges::find(offer->resources, name, &sharing::Resource::name);
        const std::size_t there = found == offer->resources.end() ? 0 : found->devices().size();
        if (there < count) {
            return name + ": " + std::to_string(there) + " would be offered, " +
                   std::to_string(count) + " are planned";
        }
    }
    return {};
}

}  // namespace aliquot::plan
