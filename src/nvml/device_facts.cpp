// SPDX-License-Identifier: Apache-2.0
#include "nvml/device_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nvml/mig_devices.h"

namespace aliquot::nvml {
namespace {

/// Remembers the first answer that shows a failing GPU.
class Verdict {
public:
    /// Whether the call succeeded.
    bool good(nvmlReturn_t code) {
        if (code == NVML_SUCCESS) return true;
        if (!is_not_reported(code) && first_problem_ == NVML_SUCCESS) first_problem_ = code;
        return false;
    }
    [[nodiscard]] nvmlReturn_t first_problem() const { return first_problem_; }

private:
    nvmlReturn_t first_problem_ = NVML_SUCCESS;
};

void read_identity(const Library& library, nvmlDevice_t device, Verdict& verdict, gpu::Gpu& gpu) {
    const Functions& nvml = library.nvml();
    const auto uuid = library.uuid(device);
    if (verdict.good(uuid.code)) gpu.uuid.text = uuid.value;
    const auto name = library.name(device);
    if (verdict.good(name.code)) gpu.model = name.value;
    const auto pci = library.pci(device);
    if (verdict.good(pci.code)) {
        gpu.pci = {pci.value.domain, pci.value.bus, pci.value.device};
        gpu.pci_device_id = pci.value.pciDeviceId;
    }
    unsigned minor = 0;
    gpu.minor = gpu.index;  // the usual order, where a driver does not tell
    if (verdict.good(nvml.nvmlDeviceGetMinorNumber(device, &minor))) gpu.minor = minor;
    int compute_major = 0;
    int compute_minor = 0;
    if (verdict.good(
            nvml.nvmlDeviceGetCudaComputeCapability(device, &compute_major, &compute_minor))) {
        gpu.compute_major = static_cast<unsigned>(std::max(0, compute_major));
        gpu.compute_minor = static_cast<unsigned>(std::max(0, compute_minor));
    }
}

gpu::Virtualization read_virtualization(const Library& library, nvmlDevice_t device) {
    nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
    if (library.nvml().nvmlDeviceGetVirtualizationMode(device, &mode) != NVML_SUCCESS) return {};
    switch (mode) {
        case NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH:
            return gpu::Virtualization::kPassthrough;
        case NVML_GPU_VIRTUALIZATION_MODE_VGPU:
            return gpu::Virtualization::kVgpuGuest;
        case NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU:
            return gpu::Virtualization::kVgpuHost;
        case NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA:
            return gpu::Virtualization::kVsgaHost;
        default:
            return gpu::Virtualization::kNone;
    }
}

void read_mig(const Library& library, nvmlDevice_t device, Verdict& verdict, gpu::Gpu& gpu) {
    unsigned current = NVML_DEVICE_MIG_DISABLE;
    unsigned pending = NVML_DEVICE_MIG_DISABLE;
    // A GPU without MIG answers "not supported".
    gpu.mig_capable = verdict.good(library.nvml().nvmlDeviceGetMigMode(device, &current, &pending));
    gpu.mig_enabled = gpu.mig_capable && current == NVML_DEVICE_MIG_ENABLE;
    gpu.mig_pending = gpu.mig_capable && current != pending;
}

gpu::LinkScore score_of(nvmlGpuTopologyLevel_t level) {
    switch (level) {
        case NVML_TOPOLOGY_INTERNAL:
            return 60;
        case NVML_TOPOLOGY_SINGLE:
            return 50;
        case NVML_TOPOLOGY_MULTIPLE:
            return 40;
        case NVML_TOPOLOGY_HOSTBRIDGE:
            return 30;
        case NVML_TOPOLOGY_NODE:
            return 20;
        default:
            return 10;
    }
}

constexpr gpu::LinkScore kFarthest = 10;
constexpr gpu::LinkScore kPerNvLink = 100;

/// How many NVLinks lead from `device` to each of `gpus`. A switch at the other end is none of
/// them, so it counts for nobody.
std::vector<unsigned> count_nvlinks(const Library& library, nvmlDevice_t device,
                                    const std::vector<gpu::Gpu>& gpus) {
    std::vector<unsigned> counts(gpus.size(), 0);
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
        nvmlEnableState_t state = NVML_FEATURE_DISABLED;
        const auto code = library.nvml().nvmlDeviceGetNvLinkState(device, link, &state);
        // A link may be unsupported between others; any other refusal, or one at once, is the end.
        if (code != NVML_SUCCESS && (link == 0 || code != NVML_ERROR_NOT_SUPPORTED)) break;
        if (code != NVML_SUCCESS || state != NVML_FEATURE_ENABLED) continue;
        const auto remote = library.link_remote(device, link);
        if (!remote.ok()) continue;
        const gpu::PciAddress address{remote.value.domain, remote.value.bus, remote.value.device};
        const auto other = std::ranges::find(gpus, address, &gpu::Gpu::pci);
        if (other != gpus.end()) ++counts[static_cast<std::size_t>(other - gpus.begin())];
    }
    return counts;
}

}  // namespace

gpu::Gpu read_gpu(const Library& library, const KernelFiles& kernel, unsigned index,
                  nvmlDevice_t device, SharedMinors& minors, KnownProfiles& known) {
    gpu::Gpu gpu{.index = index};
    Verdict verdict;
    read_identity(library, device, verdict, gpu);
    const auto memory = library.memory(device);
    if (verdict.good(memory.code)) gpu.memory_bytes = memory.value.total;
    gpu.virtualization = read_virtualization(library, device);
    read_mig(library, device, verdict, gpu);
    if (gpu.mig_enabled) {
        auto devices = read_mig_devices(library, minors.get(kernel), device, gpu, known);
        if (verdict.good(devices.code)) gpu.mig_devices = std::move(devices.value);
    }
    verdict.good(library.temperature(device).code);  // reaches the GPU itself
    gpu.numa_node = kernel.numa_node(gpu.pci);
    if (verdict.first_problem() != NVML_SUCCESS) {
        gpu.health = {gpu::Health::State::kUnhealthy, library.text(verdict.first_problem())};
    } else if (gpu.uuid.text.empty()) {
        gpu.health = {gpu::Health::State::kUnhealthy, "the driver does not tell its UUID"};
    }
    return gpu;
}

void name_the_lost(const KernelFiles& kernel, std::vector<gpu::Gpu>& gpus) {
    std::vector<KernelGpu> unclaimed = kernel.gpus();
    std::erase_if(unclaimed, [&](const KernelGpu& known) {
        return std::ranges::any_of(gpus, [&](const gpu::Gpu& gpu) { return gpu.pci == known.pci; });
    });
    std::vector<gpu::Gpu*> nameless;
    for (gpu::Gpu& gpu : gpus) {
        if (gpu.pci == gpu::PciAddress{}) nameless.push_back(&gpu);
    }
    if (nameless.size() != unclaimed.size()) return;
    for (std::size_t i = 0; i < nameless.size(); ++i) {
        gpu::Gpu& gpu = *nameless[i];
        gpu.pci = unclaimed[i].pci;
        if (gpu.uuid.text.empty()) gpu.uuid = unclaimed[i].uuid;
        if (gpu.model.empty()) gpu.model = unclaimed[i].model;
        gpu.minor = unclaimed[i].minor.value_or(gpu.index);
        gpu.numa_node = kernel.numa_node(gpu.pci);
    }
}

Answer<gpu::Sample> read_sample(const Library& library, nvmlDevice_t device) {
    Answer<gpu::Sample> answer;
    gpu::Sample& sample = answer.value;
    Verdict verdict;
    const auto memory = library.memory(device);
    if (memory.code == NVML_ERROR_INVALID_ARGUMENT) {
        answer.code = memory.code;  // the handle is of a driver that was unloaded since
        return answer;
    }
    if (verdict.good(memory.code)) {
        sample.memory_used_bytes = memory.value.used;
        sample.memory_total_bytes = memory.value.total;
    }
    nvmlUtilization_t busy{};
    if (verdict.good(library.nvml().nvmlDeviceGetUtilizationRates(device, &busy))) {
        sample.gpu_busy_percent = std::min(busy.gpu, 100U);
        sample.memory_busy_percent = std::min(busy.memory, 100U);
    }
    const auto temperature = library.temperature(device);
    if (verdict.good(temperature.code)) sample.temperature_celsius = temperature.value;
    unsigned milliwatts = 0;
    if (verdict.good(library.nvml().nvmlDeviceGetPowerUsage(device, &milliwatts))) {
        sample.power_milliwatts = milliwatts;
    }
    answer.code = verdict.first_problem();
    return answer;
}

Answer<std::vector<gpu::Process>> read_process_list(const Library& library, nvmlDevice_t device) {
    std::map<std::uint32_t, gpu::Process> by_pid;
    Answer<std::vector<gpu::Process>> answer;
    bool any_list = false;
    for (const auto kind : {ProcessKind::kCompute, ProcessKind::kMps, ProcessKind::kGraphics}) {
        const auto list = library.processes(device, kind);
        answer.code = list.code;
        if (!list.ok()) {
            const bool absent =
                list.code == NVML_ERROR_NOT_SUPPORTED || list.code == NVML_ERROR_FUNCTION_NOT_FOUND;
            if (!absent) return answer;
            continue;
        }
        any_list = true;
        for (const auto& entry : list.value) {
            gpu::Process& process = by_pid[entry.pid];
            process.pid = entry.pid;
            process.graphics = process.graphics || kind == ProcessKind::kGraphics;
            if (entry.usedGpuMemory != NVML_VALUE_NOT_AVAILABLE) {
                process.memory_bytes =
                    std::max(process.memory_bytes.value_or(0), entry.usedGpuMemory);
            }
        }
    }
    if (!any_list) return answer;
    answer.code = NVML_SUCCESS;
    for (auto& [pid, process] : by_pid) answer.value.push_back(process);
    return answer;
}

std::vector<std::vector<gpu::LinkScore>> read_links(const Library& library,
                                                    const std::vector<nvmlDevice_t>& devices,
                                                    const std::vector<gpu::Gpu>& gpus,
                                                    std::atomic<std::size_t>& asking) {
    const std::size_t count = gpus.size();
    std::vector<std::vector<gpu::LinkScore>> links(count, std::vector<gpu::LinkScore>(count, 0));
    std::vector<std::vector<unsigned>> nvlinks(count, std::vector<unsigned>(count, 0));
    for (std::size_t i = 0; i < count; ++i) {
        asking = i;
        if (devices[i] != nullptr) nvlinks[i] = count_nvlinks(library, devices[i], gpus);
    }
    for (std::size_t i = 0; i < count; ++i) {
        asking = i;
        for (std::size_t j = i + 1; j < count; ++j) {
            gpu::LinkScore score = kFarthest;
            // Both ends see a link; an end that answers badly may miss it.
            const unsigned direct = std::max(nvlinks[i][j], nvlinks[j][i]);
            if (direct > 0) {
                score = direct * kPerNvLink;
            } else if (devices[i] != nullptr && devices[j] != nullptr) {
                nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
                const auto code = library.nvml().nvmlDeviceGetTopologyCommonAncestor(
                    devices[i], devices[j], &level);
                if (code == NVML_SUCCESS) score = score_of(level);
            }
            links[i][j] = links[j][i] = score;
        }
    }
    return links;
}

}  // namespace aliquot::nvml
