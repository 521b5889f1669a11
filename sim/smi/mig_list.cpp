// SPDX-License-Identifier: Apache-2.0
//
// The lists of "nvidia-smi mig": profiles, placements, instances.
#include "sim/smi/mig_instances.h"
#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

using Action = MigRequest::Action;

/// A table as wide as its first line: head, then rows that end with a line each.
std::string table(const std::vector<std::string>& head, const std::string& rows) {
    const std::string inner(head.front().size(), '-');
    std::string text = "+" + inner + "+\n";
    for (const std::string& line : head) text += "|" + line + "|\n";
    return text + "|" + std::string(inner.size(), '=') + "|\n" + rows;
}

std::string row(const std::string& text) { return "|" + text + "|\n"; }
std::string end_row(std::size_t width) { return "+" + std::string(width, '-') + "+\n"; }

std::string profile_rows(const Gpu& gpu, const nvmlGpuInstanceProfileInfo_v2_t& profile) {
    unsigned left = 0;
    (void)SMI_CALL(gpu.library(), nvmlDeviceGetGpuInstanceRemainingCapacity, gpu.handle(),
                   profile.id, &left);
    const std::string first = print(
        " %3u  %-17s%3u    %2u/%-2u  %9.2f%9s%7u%6u%6u   ", gpu.index(), profile.name, profile.id,
        left, profile.instanceCount, static_cast<double>(profile.memorySizeMB) / 1024,
        profile.isP2pSupported != 0 ? "Yes" : "No", profile.multiprocessorCount,
        profile.decoderCount, profile.encoderCount);
    const std::string second =
        print("%61u%6u%6u   ", profile.copyEngineCount, profile.jpegCount, profile.ofaCount);
    return row(first) + row(second) + end_row(first.size());
}

std::string list_profiles(const View& view) {
    std::string rows;
    for (const Gpu& gpu : view.gpus) {
        if (!in_mig_mode(gpu)) continue;
        for (const auto& profile : instance_profiles(gpu)) rows += profile_rows(gpu, profile);
    }
    return table({" GPU instance profiles:                                                      ",
                  " GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  ",
                  "                              Free/Total   GiB              CE    JPEG  OFA  "},
                 rows);
}

std::string list_placements(const View& view) {
    std::string text;
    for (const Gpu& gpu : view.gpus) {
        if (!in_mig_mode(gpu)) continue;
        for (const auto& profile : instance_profiles(gpu)) {
            std::vector<nvmlGpuInstancePlacement_t> places(64);
            auto count = static_cast<unsigned>(places.size());
            if (SMI_CALL(gpu.library(), nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu.handle(),
                         profile.id, places.data(), &count) != NVML_SUCCESS ||
                count == 0 || count > places.size()) {
                continue;
            }
            std::string starts;
            for (unsigned i = 0; i < count; ++i) {
                starts += (i == 0 ? "" : ",") + std::to_string(places[i].start);
            }
            text += print("GPU %2u Profile ID %2u Placement%s: {%s}:%u\n", gpu.index(), profile.id,
                          count == 1 ? " " : "s", starts.c_str(), places[0].size);
        }
    }
    return text;
}

std::string gpu_instance_row(const Gpu& gpu, const GpuInstance& instance) {
    const std::string text = print(" %3u  %-17s%5u%10u%10u:%-3u   ", gpu.index(),
                                   instance.profile.name, instance.profile.id, instance.info.id,
                                   instance.info.placement.start, instance.info.placement.size);
    return row(text) + end_row(text.size());
}

std::string compute_instance_row(const Gpu& gpu, const GpuInstance& instance,
                                 const ComputeInstance& compute) {
    const std::string text =
        print(" %3u   %5u       %-20s%4u%10u%10u:%-3u ", gpu.index(), instance.info.id,
              compute.profile.c_str(), compute.info.profileId, compute.info.id,
              compute.info.placement.start, compute.info.placement.size);
    return row(text) + end_row(text.size());
}

std::string compute_profile_rows(const Gpu& gpu, const GpuInstance& instance,
                                 const nvmlComputeInstanceProfileInfo_v2_t& profile) {
    unsigned left = 0;
    (void)SMI_CALL(gpu.library(), nvmlGpuInstanceGetComputeInstanceRemainingCapacity,
                   instance.handle, profile.id, &left);
    const bool fills = profile.sliceCount == instance.profile.sliceCount;
    const std::string first =
        print(" %3u   %5u       %-20s%3u%s    %2u/%-2u  %8u%7u%6u%6u ", gpu.index(),
              instance.info.id, profile.name, profile.id, fills ? "*" : " ", left,
              profile.instanceCount, profile.multiprocessorCount, profile.sharedDecoderCount,
              profile.sharedEncoderCount, profile.sharedOfaCount);
    const std::string second =
        print("%69u%6u       ", profile.sharedCopyEngineCount, profile.sharedJpegCount);
    return row(first) + row(second) + end_row(first.size());
}

/// The instances of all GPUs; the first refusal ends it.
template <class Row>
Output each_instance(const View& view, const MigRequest& request, Row row_of) {
    Output output;
    for (const Gpu& gpu : view.gpus) {
        if (!in_mig_mode(gpu)) continue;
        const auto instances = gpu_instances(gpu);
        if (!instances.ok()) {
            return {
                "Unable to list GPU instances: " + view.library.error_text(instances.code) + "\n",
                instances.code};
        }
        for (const GpuInstance& instance : instances.value) {
            if (is_meant(request.gpu_instances, instance.info.id)) {
                output.text += row_of(gpu, instance);
            }
        }
    }
    return output;
}

Output list_instances(const View& view, const MigRequest& request) {
    Output output = each_instance(view, request, gpu_instance_row);
    if (output.code != 0) return output;
    if (output.text.empty()) return {"No GPU instances found: Not Found\n", NVML_ERROR_NOT_FOUND};
    return {table({" GPU instances:                                        ",
                   " GPU   Name             Profile  Instance   Placement  ",
                   "                          ID       ID       Start:Size "},
                  output.text)};
}

Output list_compute(const View& view, const MigRequest& request) {
    Output output = each_instance(view, request, [&](const Gpu& gpu, const GpuInstance& instance) {
        std::string rows;
        for (const ComputeInstance& compute : compute_instances(gpu, instance.handle)) {
            if (is_meant(request.compute_instances, compute.info.id)) {
                rows += compute_instance_row(gpu, instance, compute);
            }
        }
        return rows;
    });
    if (output.code != 0) return output;
    if (output.text.empty()) {
        return {"No compute instances found: Not Found\n", NVML_ERROR_NOT_FOUND};
    }
    return {table({" Compute instances:                                                 ",
                   " GPU     GPU       Name             Profile   Instance   Placement  ",
                   "       Instance                       ID        ID       Start:Size ",
                   "         ID                                                         "},
                  output.text)};
}

Output list_compute_profiles(const View& view, const MigRequest& request) {
    Output output = each_instance(view, request, [&](const Gpu& gpu, const GpuInstance& instance) {
        std::string rows;
        for (const auto& profile : compute_profiles(gpu, instance.handle)) {
            rows += compute_profile_rows(gpu, instance, profile);
        }
        return rows;
    });
    if (output.code != 0) return output;
    if (output.text.empty()) return {"No GPU instances found: Not Found\n", NVML_ERROR_NOT_FOUND};
    return {table(
        {" Compute instance profiles:                                                       ",
         " GPU     GPU       Name             Profile  Instances   Exclusive       Shared   ",
         "       Instance                       ID     Free/Total     SM    DEC   ENC   OFA ",
         "         ID                                                        CE  JPEG       "},
        output.text)};
}

}  // namespace

Output show_mig(const View& view, const Request& request) {
    bool any = false;
    for (const Gpu& gpu : view.gpus) any = any || in_mig_mode(gpu);
    if (!any) return {"No MIG-enabled devices found.\n", NVML_ERROR_NOT_FOUND};
    switch (request.mig.action) {
        case Action::kListProfiles:
            return {list_profiles(view)};
        case Action::kListPlacements:
            return {list_placements(view)};
        case Action::kListGpuInstances:
            return list_instances(view, request.mig);
        case Action::kListComputeInstances:
            return list_compute(view, request.mig);
        default:
            return list_compute_profiles(view, request.mig);
    }
}

}  // namespace aliquot::sim::smi
