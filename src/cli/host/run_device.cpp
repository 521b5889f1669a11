// SPDX-License-Identifier: Apache-2.0
#include "cli/host/run_device.h"

#include <algorithm>
#include <string_view>

#include "base/sentence.h"
#include "catalog/gpu_models.h"
#include "guard_region/estimates.h"
#include "guard_region/ledger.h"
#include "guard_region/uuid.h"

namespace aliquot::cli {
namespace {

std::uint64_t context_of(const gpu::Gpu& gpu, const std::string& driver_version) {
    constexpr unsigned kMibShift = 20;
    const catalog::GpuModel* const model =
        catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> kMibShift));
    const unsigned multiprocessors =
        model == nullptr ? 0
                         : guard_region::multiprocessors_of(model->cuda_cores, gpu.compute_major,
                                                            gpu.compute_minor);
    return guard_region::ContextEstimates().estimate(
        {.model = gpu.model, .driver_version = driver_version}, multiprocessors);
}

bool names(const RunDevice& device, const std::string& word) {
    return device.uuid == word || device.index == word;
}

/// Those that CUDA_VISIBLE_DEVICES leaves, when it says something.
std::vector<RunDevice> visible(std::vector<RunDevice> devices,
                               const std::map<std::string, std::string>& environment) {
    const auto found = environment.find("CUDA_VISIBLE_DEVICES");
    if (found == environment.end() || found->second.empty()) return devices;
    std::erase_if(devices, [&](const RunDevice& device) {
        std::string_view rest = found->second;
        while (!rest.empty()) {
            const std::string word(rest.substr(0, rest.find(',')));
            rest.remove_prefix(std::min(rest.size(), word.size() + 1));
            if (names(device, word)) return false;
        }
        return true;
    });
    return devices;
}

std::uint64_t taken_of(const RunDevice& device, const std::vector<guard_region::Run>& living) {
    std::uint64_t taken = 0;
    for (const guard_region::Run& run : living) {
        if (!guard_region::same_device(run.limits.uuid, device.uuid)) continue;
        taken = guard_region::saturating_add(taken, run.limits.memory_bytes);
    }
    return taken;
}

}  // namespace

std::vector<RunDevice> devices_of(const gpu::Inventory& inventory) {
    std::vector<RunDevice> devices;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty()) continue;
        const std::uint64_t context = context_of(gpu, inventory.driver_version);
        if (!gpu.mig_enabled) {
            devices.push_back({.index = std::to_string(gpu.index),
                               .uuid = gpu.uuid.text,
                               .model = gpu.model,
                               .memory_bytes = gpu.memory_bytes,
                               .context_bytes = context});
        }
        for (const gpu::MigDevice& mig : gpu.mig_devices) {
            devices.push_back({.index = std::to_string(gpu.index) + ":" + std::to_string(mig.index),
                               .uuid = mig.uuid.text,
                               .model = gpu.model + " " + mig.profile,
                               .memory_bytes = mig.memory_bytes,
                               .context_bytes = context});
        }
    }
    return devices;
}

Result<RunDevice> choose_device(const std::string& wanted, const std::vector<RunDevice>& all,
                                const std::map<std::string, std::string>& environment,
                                const std::vector<guard_region::Run>& living) {
    if (!wanted.empty()) {
        const auto found =
            std::ranges::find_if(all, [&](const RunDevice& one) { return names(one, wanted); });
        if (found != all.end()) return *found;
        std::string known = listed(all, [](const RunDevice& one) { return one.index; });
        return Error{
            ErrorCode::kInvalidInput,
            "no GPU '" + wanted + "' on this machine; expected an index (" + known + ") or a UUID"};
    }
    const auto usable = visible(all, environment);
    if (usable.empty()) {
        return Error{ErrorCode::kNotFound,
                     all.empty() ? "this machine has no GPU that a program can use"
                                 : "CUDA_VISIBLE_DEVICES leaves none of this machine's GPUs"};
    }
    return *std::ranges::max_element(usable, {}, [&](const RunDevice& one) {
        const std::uint64_t taken = taken_of(one, living);
        return one.memory_bytes - std::min(one.memory_bytes, taken);
    });
}

}  // namespace aliquot::cli
