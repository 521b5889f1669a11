// SPDX-License-Identifier: Apache-2.0
//
// "nvidia-smi mig" that makes and removes instances.
#include "base/number.h"
#include "sim/smi/arguments.h"
#include "sim/smi/mig_instances.h"
#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

using Action = MigRequest::Action;

/// "Unable to ...: Insufficient Resources", then what that means for the whole request.
Output refused(const View& view, const std::string& what, const std::string& all,
               nvmlReturn_t code) {
    const std::string words = view.library.error_text(code);
    return {what + ": " + words + "\nFailed to " + all + ": " + words + "\n",
            code > 255 ? 255 : code};
}

void append(Output& output, const Output& more) {
    output.text += more.text;
    output.code = more.code;
}

std::string without_prefix(std::string name) {
    if (name.starts_with("MIG ")) name.erase(0, 4);
    return name;
}

/// A profile of -cgi or -cci: its id, its name, "1g.10gb+me" also with a point.
template <class Info>
const Info* find_profile(const std::vector<Info>& profiles, const std::string& text) {
    const auto id = parse_number<unsigned>(text);
    for (const Info& profile : profiles) {
        if (id ? profile.id == *id : without_prefix(profile.name) == without_prefix(text)) {
            return &profile;
        }
    }
    return nullptr;
}

Output unknown_profile(const std::string& text) {
    return {"Profile '" + text + "' is not known on this GPU: see 'nvidia-smi mig -lgip'.\n",
            NVML_ERROR_INVALID_ARGUMENT};
}

Output create_compute(const View& view, const Gpu& gpu, const GpuInstance& instance,
                      const nvmlComputeInstanceProfileInfo_v2_t& profile) {
    nvmlComputeInstance_t made = nullptr;
    auto code = SMI_CALL(view.library, nvmlGpuInstanceCreateComputeInstance, instance.handle,
                         profile.id, &made);
    if (code != NVML_SUCCESS) {
        return refused(view,
                       print("Unable to create a compute instance on GPU %2u GPU instance ID %2u "
                             "using profile %u",
                             gpu.index(), instance.info.id, profile.id),
                       "create compute instances", code);
    }
    nvmlComputeInstanceInfo_t info{};
    code = SMI_CALL(view.library, nvmlComputeInstanceGetInfo_v2, made, &info);
    return {print("Successfully created compute instance ID %2u on GPU %2u GPU instance ID %2u "
                  "using profile %s (ID %2u)\n",
                  info.id, gpu.index(), instance.info.id, profile.name, profile.id),
            code};
}

/// A compute instance that fills the GPU instance.
Output fill(const View& view, const Gpu& gpu, const GpuInstance& instance) {
    for (const auto& profile : compute_profiles(gpu, instance.handle)) {
        if (profile.sliceCount == instance.profile.sliceCount) {
            return create_compute(view, gpu, instance, profile);
        }
    }
    return {};
}

Output create_one(const View& view, const Gpu& gpu, const std::string& text, bool with_compute) {
    const auto colon = text.find(':');
    const auto profiles = instance_profiles(gpu);
    const auto* const profile = find_profile(profiles, text.substr(0, colon));
    if (profile == nullptr) return unknown_profile(text);
    nvmlGpuInstance_t made = nullptr;
    nvmlReturn_t code = NVML_SUCCESS;
    if (colon == std::string::npos) {
        code =
            SMI_CALL(view.library, nvmlDeviceCreateGpuInstance, gpu.handle(), profile->id, &made);
    } else {
        const auto start = parse_number<unsigned>(text.substr(colon + 1));
        std::vector<nvmlGpuInstancePlacement_t> places(64);
        auto count = static_cast<unsigned>(places.size());
        code = SMI_CALL(view.library, nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu.handle(),
                        profile->id, places.data(), &count);
        if (!start || code != NVML_SUCCESS || count == 0) return unknown_profile(text);
        const nvmlGpuInstancePlacement_t place{.start = *start, .size = places[0].size};
        code = SMI_CALL(view.library, nvmlDeviceCreateGpuInstanceWithPlacement, gpu.handle(),
                        profile->id, &place, &made);
    }
    if (code != NVML_SUCCESS) {
        return refused(view,
                       print("Unable to create a GPU instance on GPU %2u using profile %u",
                             gpu.index(), profile->id),
                       "create GPU instances", code);
    }
    GpuInstance instance{.handle = made, .profile = *profile};
    (void)SMI_CALL(view.library, nvmlGpuInstanceGetInfo, made, &instance.info);
    Output output{
        print("Successfully created GPU instance ID %2u on GPU %2u using profile %s (ID "
              "%2u)\n",
              instance.info.id, gpu.index(), profile->name, profile->id)};
    if (with_compute) append(output, fill(view, gpu, instance));
    return output;
}

Output create_instances(const View& view, const Gpu& gpu, const MigRequest& request) {
    Output output;
    for (const std::string& text : request.profiles) {
        append(output, create_one(view, gpu, text, request.fill));
        if (output.code != 0) break;
    }
    return output;
}

Output create_computes(const View& view, const Gpu& gpu, const GpuInstance& instance,
                       const MigRequest& request) {
    if (request.profiles.empty()) return fill(view, gpu, instance);
    Output output;
    const auto profiles = compute_profiles(gpu, instance.handle);
    for (const std::string& text : request.profiles) {
        const auto* const profile = find_profile(profiles, text);
        append(output, profile == nullptr ? unknown_profile(text)
                                          : create_compute(view, gpu, instance, *profile));
        if (output.code != 0) break;
    }
    return output;
}

Output destroy_instance(const View& view, const Gpu& gpu, const GpuInstance& instance) {
    const auto code = SMI_CALL(view.library, nvmlGpuInstanceDestroy, instance.handle);
    const std::string subject =
        print("GPU instance ID %2u from GPU %2u", instance.info.id, gpu.index());
    if (code == NVML_SUCCESS) return {"Successfully destroyed " + subject + "\n"};
    return refused(view, "Unable to destroy " + subject, "destroy GPU instances", code);
}

Output destroy_computes(const View& view, const Gpu& gpu, const GpuInstance& instance,
                        const MigRequest& request) {
    Output output;
    for (const ComputeInstance& compute : compute_instances(gpu, instance.handle)) {
        if (!is_meant(request.compute_instances, compute.info.id)) continue;
        const auto code = SMI_CALL(view.library, nvmlComputeInstanceDestroy, compute.handle);
        const std::string subject =
            print("compute instance ID %2u from GPU %2u GPU instance ID %2u", compute.info.id,
                  gpu.index(), instance.info.id);
        append(output, code == NVML_SUCCESS ? Output{"Successfully destroyed " + subject + "\n"}
                                            : refused(view, "Unable to destroy " + subject,
                                                      "destroy compute instances", code));
        if (output.code != 0) break;
    }
    return output;
}

Output change_instance(const View& view, const Gpu& gpu, const GpuInstance& instance,
                       const MigRequest& request) {
    switch (request.action) {
        case Action::kCreateComputeInstances:
            return create_computes(view, gpu, instance, request);
        case Action::kDestroyGpuInstances:
            return destroy_instance(view, gpu, instance);
        default:
            return destroy_computes(view, gpu, instance, request);
    }
}

Output change_gpu(const View& view, const Gpu& gpu, const MigRequest& request) {
    if (request.action == Action::kCreateGpuInstances) return create_instances(view, gpu, request);
    const auto instances = gpu_instances(gpu);
    if (!instances.ok()) {
        return {"Unable to list GPU instances: " + view.library.error_text(instances.code) + "\n",
                instances.code};
    }
    Output output;
    for (const GpuInstance& instance : instances.value) {
        if (!is_meant(request.gpu_instances, instance.info.id)) continue;
        append(output, change_instance(view, gpu, instance, request));
        if (output.code != 0) break;
    }
    return output;
}

}  // namespace

Output change_mig(const View& view, const Request& request) {
    Output output;
    bool any = false;
    for (const Gpu& gpu : view.gpus) {
        if (!in_mig_mode(gpu)) continue;
        any = true;
        append(output, change_gpu(view, gpu, request.mig));
        if (output.code != 0) return output;
    }
    if (!any) return {"No MIG-enabled devices found.\n", NVML_ERROR_NOT_FOUND};
    if (!output.text.empty()) return output;
    const bool compute = request.mig.action == Action::kDestroyComputeInstances;
    return {std::string("No ") + (compute ? "compute" : "GPU") + " instances found: Not Found\n",
            NVML_ERROR_NOT_FOUND};
}

}  // namespace aliquot::sim::smi
