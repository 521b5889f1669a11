// SPDX-License-Identifier: Apache-2.0
#include "nvml/partitions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "nvml/mig_devices.h"
#include "nvml/mig_profiles.h"

namespace aliquot::nvml {
namespace {

/// Where a process runs.
struct Running {
    unsigned gpu_instance = NVML_NO_INSTANCE;
    unsigned compute_instance = NVML_NO_INSTANCE;
};

/// Adds the processes that `device` lists; false: it does not tell.
bool add_running(const Library& library, nvmlDevice_t device, std::vector<Running>& running) {
    bool told = false;
    for (const auto kind : {ProcessKind::kCompute, ProcessKind::kMps, ProcessKind::kGraphics}) {
        const auto list = library.processes(device, kind);
        if (!list.ok()) continue;
        told = told || kind == ProcessKind::kCompute;
        for (const auto& entry : list.value) {
            running.push_back({entry.gpuInstanceId, entry.computeInstanceId});
        }
    }
    return told;
}

/// All processes of a GPU. One whose place is not told counts everywhere.
std::vector<Running> read_running(const Library& library, nvmlDevice_t device,
                                  const std::vector<MigHandle>& devices) {
    std::vector<Running> running;
    if (add_running(library, device, running)) return running;
    for (const MigHandle& one : devices) {  // some drivers tell only on the MIG device
        std::vector<Running> here;
        add_running(library, one.handle, here);
        for (std::size_t i = 0; i < here.size(); ++i) {
            running.push_back({one.gpu_instance, one.compute_instance});
        }
    }
    return running;
}

bool is_busy(const std::vector<Running>& running, unsigned gpu_instance,
             unsigned compute_instance) {
    return std::ranges::any_of(running, [&](const Running& one) {
        const bool here = one.gpu_instance == NVML_NO_INSTANCE || one.gpu_instance == gpu_instance;
        return here && (one.compute_instance == NVML_NO_INSTANCE ||
                        one.compute_instance == compute_instance);
    });
}

Answer<nvmlComputeInstanceInfo_t> compute_info(const Library& library,
                                               nvmlComputeInstance_t compute) {
    const Functions& nvml = library.nvml();
    Answer<nvmlComputeInstanceInfo_t> answer;
    answer.code = nvml.nvmlComputeInstanceGetInfo_v2
                      ? nvml.nvmlComputeInstanceGetInfo_v2(compute, &answer.value)
                      : nvml.nvmlComputeInstanceGetInfo(compute, &answer.value);
    return answer;
}

/// Adds the compute instances of one profile; an answer but success: the driver fails.
nvmlReturn_t list_compute(const Library& library, nvmlGpuInstance_t instance,
                          const nvmlComputeInstanceProfileInfo_t& profile,
                          std::vector<nvmlComputeInstanceInfo_t>& infos) {
    std::vector<nvmlComputeInstance_t> found(std::max(profile.instanceCount, 16U));
    auto count = static_cast<unsigned>(found.size());
    const auto code = library.nvml().nvmlGpuInstanceGetComputeInstances(instance, profile.id,
                                                                        found.data(), &count);
    if (code != NVML_SUCCESS) return is_not_reported(code) ? NVML_SUCCESS : code;
    found.resize(std::min<std::size_t>(count, found.size()));
    for (nvmlComputeInstance_t compute : found) {
        const auto info = compute_info(library, compute);
        if (info.ok()) infos.push_back(info.value);  // else: destroyed since
    }
    return NVML_SUCCESS;
}

/// The last free place for a compute instance: small ones at the end leave the beginning, where
/// alone the big ones may stand. Empty: the driver does not tell, so it must choose.
std::optional<nvmlComputeInstancePlacement_t> free_place(
    const Library& library, nvmlGpuInstance_t instance,
    const nvmlComputeInstanceProfileInfo_t& wanted,
    const std::vector<nvmlComputeInstanceProfileInfo_t>& profiles) {
    const Functions& nvml = library.nvml();
    std::array<nvmlComputeInstancePlacement_t, 64> places{};
    unsigned count = places.size();
    if (!nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement ||
        nvml.nvmlGpuInstanceGetComputeInstancePossiblePlacements(instance, wanted.id, places.data(),
                                                                 &count) != NVML_SUCCESS) {
        return std::nullopt;
    }
    std::vector<nvmlComputeInstanceInfo_t> taken;
    for (const auto& profile : profiles) {
        if (list_compute(library, instance, profile, taken) != NVML_SUCCESS) return std::nullopt;
    }
    std::optional<nvmlComputeInstancePlacement_t> best;
    for (unsigned i = 0; i < std::min<std::size_t>(count, places.size()); ++i) {
        const nvmlComputeInstancePlacement_t& place = places.at(i);
        const bool free = std::ranges::none_of(taken, [&](const nvmlComputeInstanceInfo_t& other) {
            return place.start < other.placement.start + other.placement.size &&
                   other.placement.start < place.start + place.size;
        });
        if (free && (!best || place.start > best->start)) best = place;
    }
    return best;
}

/// How to fill a look: what is the same for all instances of a GPU.
struct Surroundings {
    std::vector<MigHandle> devices;
    std::vector<Running> running;
};

gpu::Uuid device_uuid(const Library& library, const Surroundings& around, unsigned gpu_instance,
                      unsigned compute_instance) {
    for (const MigHandle& one : around.devices) {
        if (one.gpu_instance != gpu_instance || one.compute_instance != compute_instance) continue;
        const auto uuid = library.uuid(one.handle);
        if (uuid.ok()) return {uuid.value};
    }
    return {};
}

nvmlReturn_t read_compute(const Library& library, nvmlGpuInstance_t handle,
                          const Surroundings& around, KnownProfiles& known,
                          gpu::MigInstance& instance) {
    for (const auto& profile : compute_profiles(library, handle, instance.profile_id, known)) {
        std::vector<nvmlComputeInstanceInfo_t> infos;
        const auto code = list_compute(library, handle, profile, infos);
        if (code != NVML_SUCCESS) return code;
        for (const auto& info : infos) {
            instance.compute.push_back(
                {.id = info.id,
                 .profile_id = info.profileId,
                 .slices = profile.sliceCount,
                 .device = device_uuid(library, around, instance.id, info.id),
                 .busy = is_busy(around.running, instance.id, info.id)});
        }
    }
    std::ranges::sort(instance.compute, {}, &gpu::MigComputeInstance::id);
    return NVML_SUCCESS;
}

nvmlReturn_t read_instances(const Library& library, nvmlDevice_t device, const Surroundings& around,
                            KnownProfiles& known, gpu::Partitions& partitions) {
    for (const gpu::MigProfile& profile : partitions.profiles) {
        std::vector<nvmlGpuInstance_t> found(std::max(profile.most, 16U));
        auto count = static_cast<unsigned>(found.size());
        auto code =
            library.nvml().nvmlDeviceGetGpuInstances(device, profile.id, found.data(), &count);
        if (code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_NOT_FOUND) continue;
        if (code != NVML_SUCCESS) return code;
        found.resize(std::min<std::size_t>(count, found.size()));
        for (nvmlGpuInstance_t handle : found) {
            nvmlGpuInstanceInfo_t info{};
            if (library.nvml().nvmlGpuInstanceGetInfo(handle, &info) != NVML_SUCCESS) continue;
            gpu::MigInstance instance{.id = info.id,
                                      .profile_id = info.profileId,
                                      .placement = {info.placement.start, info.placement.size},
                                      .compute = {}};
            code = read_compute(library, handle, around, known, instance);
            if (code != NVML_SUCCESS) return code;
            partitions.instances.push_back(std::move(instance));
        }
    }
    std::ranges::sort(partitions.instances, {}, &gpu::MigInstance::placement);
    return NVML_SUCCESS;
}

Answer<nvmlGpuInstance_t> instance_handle(const Library& library, nvmlDevice_t device,
                                          unsigned instance) {
    Answer<nvmlGpuInstance_t> answer;
    answer.code = library.nvml().nvmlDeviceGetGpuInstanceById(device, instance, &answer.value);
    return answer;
}

}  // namespace

Answer<PartitionedGpu> partitioned_gpu(const Library& library, nvmlDevice_t device) {
    Answer<PartitionedGpu> answer;
    answer.value.handle = device;
    const auto memory = library.memory(device);
    answer.code = memory.code;
    if (!answer.ok()) return answer;
    answer.value.memory_bytes = memory.value.total;
    const auto pci = library.pci(device);
    if (pci.ok()) answer.value.pci_device_id = pci.value.pciDeviceId;
    return answer;
}

bool is_in_use(const Library& library, nvmlDevice_t device) {
    std::vector<Running> running;
    add_running(library, device, running);
    return !running.empty();
}

Answer<gpu::Partitions> look_at_partitions(const Library& library, const PartitionedGpu& gpu,
                                           KnownProfiles& known) {
    Answer<gpu::Partitions> answer;
    gpu::Partitions& partitions = answer.value;
    unsigned current = NVML_DEVICE_MIG_DISABLE;
    unsigned pending = NVML_DEVICE_MIG_DISABLE;
    answer.code = library.nvml().nvmlDeviceGetMigMode(gpu.handle, &current, &pending);
    if (!answer.ok()) return answer;
    partitions.enabled = current == NVML_DEVICE_MIG_ENABLE;
    partitions.pending = pending == NVML_DEVICE_MIG_ENABLE;
    const auto resetless = library.field(gpu.handle, NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED);
    if (resetless.ok()) partitions.resetless = resetless.value != 0;

    Surroundings around;
    if (partitions.enabled) {
        auto devices = read_mig_handles(library, gpu.handle);
        answer.code = devices.code;
        if (!answer.ok()) return answer;
        around.devices = std::move(devices.value);
    }
    around.running = read_running(library, gpu.handle, around.devices);
    partitions.in_use = !around.running.empty();

    const ProfileGround ground{
        .device = gpu.handle, .pci_device_id = gpu.pci_device_id, .memory_bytes = gpu.memory_bytes};
    auto profiles = gpu_profiles(library, ground, known);
    // A driver may tell nothing of the profiles while the mode is off.
    if (!profiles.ok() && (partitions.enabled || !is_not_reported(profiles.code))) {
        answer.code = profiles.code;
        return answer;
    }
    partitions.profiles = std::move(profiles.value);
    if (partitions.enabled) {
        answer.code = read_instances(library, gpu.handle, around, known, partitions);
    }
    return answer;
}

Answer<gpu::ModeChange> set_mig_mode(const Library& library, nvmlDevice_t device, bool enabled) {
    const Functions& nvml = library.nvml();
    const unsigned wanted = enabled ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
    Answer<gpu::ModeChange> answer;
    unsigned current = 0;
    unsigned pending = 0;
    answer.code = nvml.nvmlDeviceGetMigMode(device, &current, &pending);
    if (!answer.ok()) return answer;
    if (current != wanted || pending != wanted) {
        nvmlReturn_t activation = NVML_SUCCESS;
        answer.code = nvml.nvmlDeviceSetMigMode(device, wanted, &activation);
        if (!answer.ok()) return answer;
        if (activation != NVML_SUCCESS) {
            answer.value = gpu::ModeChange::kNeedsReset;
            return answer;
        }
        answer.code = nvml.nvmlDeviceGetMigMode(device, &current, &pending);
        if (!answer.ok()) return answer;
    }
    answer.value = current == wanted ? gpu::ModeChange::kDone : gpu::ModeChange::kNeedsReset;
    return answer;
}

Answer<unsigned> create_gpu_instance(const Library& library, nvmlDevice_t device,
                                     unsigned profile_id, gpu::MigPlacement placement) {
    const Functions& nvml = library.nvml();
    const nvmlGpuInstancePlacement_t place{placement.start, placement.size};
    nvmlGpuInstance_t instance = nullptr;
    Answer<unsigned> answer;
    answer.code =
        nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile_id, &place, &instance);
    if (!answer.ok()) return answer;
    nvmlGpuInstanceInfo_t info{};
    answer.code = nvml.nvmlGpuInstanceGetInfo(instance, &info);
    if (!answer.ok()) nvml.nvmlGpuInstanceDestroy(instance);  // nobody could name it
    answer.value = info.id;
    return answer;
}

Answer<unsigned> create_compute_instance(const Library& library, nvmlDevice_t device,
                                         unsigned instance, unsigned slices, KnownProfiles& known) {
    const Functions& nvml = library.nvml();
    const auto handle = instance_handle(library, device, instance);
    Answer<unsigned> answer;
    answer.code = handle.code;
    if (!answer.ok()) return answer;
    nvmlGpuInstanceInfo_t parent{};
    answer.code = nvml.nvmlGpuInstanceGetInfo(handle.value, &parent);
    if (!answer.ok()) return answer;
    const auto& profiles = compute_profiles(library, handle.value, parent.profileId, known);
    const auto profile =
        std::ranges::find(profiles, slices, &nvmlComputeInstanceProfileInfo_t::sliceCount);
    if (profile == profiles.end()) {
        answer.code = NVML_ERROR_NOT_FOUND;
        return answer;
    }
    nvmlComputeInstance_t compute = nullptr;
    if (const auto place = free_place(library, handle.value, *profile, profiles)) {
        answer.code = nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement(
            handle.value, profile->id, &*place, &compute);
    } else {
        answer.code =
            nvml.nvmlGpuInstanceCreateComputeInstance(handle.value, profile->id, &compute);
    }
    if (!answer.ok()) return answer;
    const auto info = compute_info(library, compute);
    answer.code = info.code;
    if (!answer.ok()) nvml.nvmlComputeInstanceDestroy(compute);
    answer.value = info.value.id;
    return answer;
}

nvmlReturn_t destroy_compute_instance(const Library& library, nvmlDevice_t device,
                                      unsigned instance, unsigned compute) {
    const Functions& nvml = library.nvml();
    const auto handle = instance_handle(library, device, instance);
    if (!handle.ok()) return handle.code;
    nvmlComputeInstance_t found = nullptr;
    const auto code = nvml.nvmlGpuInstanceGetComputeInstanceById(handle.value, compute, &found);
    return code == NVML_SUCCESS ? nvml.nvmlComputeInstanceDestroy(found) : code;
}

nvmlReturn_t destroy_gpu_instance(const Library& library, nvmlDevice_t device, unsigned instance) {
    const auto handle = instance_handle(library, device, instance);
    return handle.ok() ? library.nvml().nvmlGpuInstanceDestroy(handle.value) : handle.code;
}

}  // namespace aliquot::nvml
