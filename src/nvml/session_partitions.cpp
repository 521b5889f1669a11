// SPDX-License-Identifier: Apache-2.0
//
// gpu::Partitioner's part of a session: what a refusal means, and who is reset along.
#include <algorithm>
#include <utility>

#include "nvml/gpu_reset.h"
#include "nvml/partitions.h"
#include "nvml/session.h"

namespace aliquot::nvml {
namespace {

constexpr const char* kInUseAdvice =
    "; end the pods that use it and stop its other clients: dcgm, exporters, "
    "nvidia-persistenced, nvidia-fabricmanager, a display server";
constexpr const char* kPermissionAdvice =
    "; run as root, in a container with NVIDIA_MIG_CONFIG_DEVICES=all, "
    "NVIDIA_MIG_MONITOR_DEVICES=all and CAP_SYS_ADMIN";

/// The far ends of a GPU's NVLinks, also of those that MIG has switched off.
std::vector<gpu::PciAddress> link_ends(const Library& library, nvmlDevice_t device) {
    std::vector<gpu::PciAddress> ends;
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
        const auto remote = library.link_remote(device, link);
        if (remote.code == NVML_ERROR_INVALID_ARGUMENT) break;
        if (!remote.ok()) continue;
        ends.push_back({remote.value.domain, remote.value.bus, remote.value.device});
    }
    return ends;
}

/// Before Hopper a GPU with NVLinks is reset together with those it is linked to.
/// source   NVIDIA, nvidia-smi manual, --gpu-reset
bool resets_alone(const Library& library, nvmlDevice_t device) {
    int major = 0;
    int minor = 0;
    const auto code = library.nvml().nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
    return code == NVML_SUCCESS && major >= 9;
}

/// Whether some MIG device lies on the GPU.
bool has_instances(const Library& library, nvmlDevice_t device) {
    unsigned most = 0;
    if (library.nvml().nvmlDeviceGetMaxMigDeviceCount(device, &most) != NVML_SUCCESS) return false;
    for (unsigned i = 0; i < most; ++i) {
        nvmlDevice_t part = nullptr;
        if (library.nvml().nvmlDeviceGetMigDeviceHandleByIndex(device, i, &part) == NVML_SUCCESS) {
            return true;
        }
    }
    return false;
}

}  // namespace

Error Session::refused(const gpu::Uuid& gpu, const std::string& subject, nvmlReturn_t code) {
    const std::string what = gpu.text + ": " + subject + ": " + library_->text(code);
    switch (code) {
        case NVML_ERROR_IN_USE:
            return {ErrorCode::kConflict, what + kInUseAdvice};
        case NVML_ERROR_INSUFFICIENT_RESOURCES:
            return {ErrorCode::kConflict,
                    what + "; the place is taken or the GPU has no more instances of this profile"};
        case NVML_ERROR_RESET_REQUIRED:
            return {ErrorCode::kConflict, what + "; reset the GPU or reboot the node first"};
        case NVML_ERROR_INVALID_ARGUMENT:
            forget_devices();  // perhaps its handle is no longer one
            return {ErrorCode::kNotFound,
                    what + "; no such GPU, profile, place or instance, or MIG mode is off"};
        case NVML_ERROR_NOT_FOUND:
            return {ErrorCode::kNotFound, what};
        case NVML_ERROR_NOT_SUPPORTED:
        case NVML_ERROR_FUNCTION_NOT_FOUND:
            return {ErrorCode::kUnsupported, what + "; this GPU or its driver has no MIG"};
        case NVML_ERROR_NO_PERMISSION:
            return {ErrorCode::kPermission, what + kPermissionAdvice};
        default:
            lost_gpu_seen_ = true;
            return {ErrorCode::kUnavailable, what};
    }
}

template <class T, class Question>
Result<T> Session::ask_gpu(const gpu::Uuid& gpu, const std::string& subject, Question question) {
    return ask<T>([&]() -> Result<T> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        Answer<T> answer = question(device.value);
        if (!answer.ok()) return refused(gpu, subject, answer.code);
        return std::move(answer.value);
    });
}

Result<gpu::Partitions> Session::partitions(const gpu::Uuid& gpu) {
    return ask_gpu<gpu::Partitions>(gpu, "MIG instances", [this](nvmlDevice_t device) {
        const auto ground = partitioned_gpu(*library_, device);
        if (ground.ok()) return look_at_partitions(*library_, ground.value, profiles_[device]);
        return Answer<gpu::Partitions>{.code = ground.code, .value = {}};
    });
}

Result<gpu::ModeChange> Session::set_mode(const gpu::Uuid& gpu, bool enabled) {
    auto changed = ask_gpu<gpu::ModeChange>(
        gpu, enabled ? "MIG mode on" : "MIG mode off",
        [&](nvmlDevice_t device) { return set_mig_mode(*library_, device, enabled); });
    // Handles and minor numbers may be others now.
    if (changed && *changed == gpu::ModeChange::kDone) end();
    return changed;
}

Result<unsigned> Session::create(const gpu::Uuid& gpu, unsigned profile_id,
                                 gpu::MigPlacement placement) {
    const std::string subject = "GPU instance of profile " + std::to_string(profile_id) + " at " +
                                std::to_string(placement.start) + ":" +
                                std::to_string(placement.size);
    return ask_gpu<unsigned>(gpu, subject, [&](nvmlDevice_t device) {
        return create_gpu_instance(*library_, device, profile_id, placement);
    });
}

Result<unsigned> Session::create_compute(const gpu::Uuid& gpu, unsigned instance, unsigned slices) {
    const std::string subject = "compute instance of " + std::to_string(slices) +
                                " slices in GPU instance " + std::to_string(instance);
    return ask_gpu<unsigned>(gpu, subject, [&](nvmlDevice_t device) {
        return create_compute_instance(*library_, device, instance, slices, profiles_[device]);
    });
}

Result<Done> Session::destroy_compute(const gpu::Uuid& gpu, unsigned instance, unsigned compute) {
    const std::string subject = "compute instance " + std::to_string(compute) +
                                " of GPU instance " + std::to_string(instance);
    return ask_gpu<Done>(gpu, subject, [&](nvmlDevice_t device) {
        return Answer<Done>{destroy_compute_instance(*library_, device, instance, compute), {}};
    });
}

Result<Done> Session::destroy(const gpu::Uuid& gpu, unsigned instance) {
    return ask_gpu<Done>(gpu, "GPU instance " + std::to_string(instance), [&](nvmlDevice_t device) {
        return Answer<Done>{destroy_gpu_instance(*library_, device, instance), {}};
    });
}

/// The GPU and all that a reset of it takes along; kConflict when one of them is in use.
Result<std::vector<gpu::PciAddress>> Session::reset_group(
    const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances) {
    // A lost GPU has no handle; the kernel knows where it is.
    const auto device = find_device(gpu);
    std::vector<gpu::PciAddress> group;
    if (device.ok()) {
        const auto pci = library_->pci(device.value);
        if (pci.ok()) group.push_back({pci.value.domain, pci.value.bus, pci.value.device});
    }
    for (const KernelGpu& known : kernel_.gpus()) {
        if (group.empty() && known.uuid == gpu && !gpu.text.empty()) group.push_back(known.pci);
    }
    if (group.empty()) return failed(gpu, device.ok() ? NVML_ERROR_NOT_FOUND : device.code);
    if (!device.ok()) return group;
    if (is_in_use(*library_, device.value)) return refused(gpu, "reset", NVML_ERROR_IN_USE);
    if (resets_alone(*library_, device.value)) return group;
    const auto ends = link_ends(*library_, device.value);
    for (const Device& other : devices_) {
        if (other.handle == nullptr || other.handle == device.value) continue;
        const auto pci = library_->pci(other.handle);
        if (!pci.ok()) continue;
        const gpu::PciAddress address{pci.value.domain, pci.value.bus, pci.value.device};
        const auto others = link_ends(*library_, other.handle);
        // Linked directly, or both to one switch.
        const bool linked = std::ranges::find(ends, address) != ends.end() ||
                            std::ranges::any_of(others, [&](const gpu::PciAddress& end) {
                                return std::ranges::find(ends, end) != ends.end();
                            });
        if (!linked) continue;
        if (is_in_use(*library_, other.handle)) {
            return Error{ErrorCode::kConflict,
                         gpu.text + ": reset: NVLink joins it with " + other.uuid.text +
                             ", which would be reset along and is in use; drain that GPU too"};
        }
        if (!may_lose_instances.contains(other.uuid) && has_instances(*library_, other.handle)) {
            return Error{ErrorCode::kConflict,
                         gpu.text + ": reset: NVLink joins it with " + other.uuid.text +
                             ", which would be reset along and lose its MIG instances; change both "
                             "in one go"};
        }
        group.push_back(address);
    }
    return group;
}

Result<Done> Session::reset(const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances) {
    const auto program = find_reset_program(root_, options_.driver_root, path_);
    if (!program) return Error(program.error()).during(gpu.text + ": reset");
    const auto group =
        ask<std::vector<gpu::PciAddress>>([&] { return reset_group(gpu, may_lose_instances); });
    if (!group) return group.error();
    // nvidia-smi wants the GPU for itself.
    const Attachment::Closure alone(caller_.attachment());
    end();
    auto done = reset_gpus(*program, *group, options_.reset_deadline);
    if (!done) return std::move(done).error().during(gpu.text);
    return Done{};
}

}  // namespace aliquot::nvml
