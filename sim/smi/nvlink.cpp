// SPDX-License-Identifier: Apache-2.0
//
// nvlink -s, and --version.
#include "sim/smi/fields.h"

namespace aliquot::sim::smi {

std::string show_nvlink(const View& view) {
    std::string text;
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() != NVML_SUCCESS) continue;
        text += print("GPU %u: %s (UUID: %s)\n", gpu.index(), gpu.name().value.c_str(),
                      gpu.uuid().value.c_str());
        const auto speed = field_number(gpu, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
        for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
            const auto state = SMI_NUMBER(gpu, nvmlEnableState_t, nvmlDeviceGetNvLinkState, link);
            if (!state.ok()) break;
            const std::string shown = state.value == NVML_FEATURE_DISABLED || !speed.ok()
                                          ? "<inactive>"
                                          : print("%.3f GB/s", speed.value / 1000.0);
            text += print("\t Link %u: %s\n", link, shown.c_str());
        }
    }
    return text;
}

std::string show_version(const View& view) {
    std::string library = view.driver_version;  // "580.65.06" is "580.65" there
    if (const auto dot = library.rfind('.'); dot != library.find('.')) library.erase(dot);
    return "NVIDIA-SMI version  : " + view.driver_version + "\nNVML version        : " + library +
           "\nDRIVER version      : " + view.driver_version +
           "\nCUDA Version        : " + cuda_text(view.cuda_version) + "\n";
}

}  // namespace aliquot::sim::smi
