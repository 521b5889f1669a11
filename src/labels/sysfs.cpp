// SPDX-License-Identifier: Apache-2.0
#include "labels/sysfs.h"

#include <algorithm>

#include "base/number.h"

namespace aliquot::labels {

std::string machine_name(const os::Root& root) {
    constexpr std::size_t kMost = 4096;
    const auto text = root.read("/sys/class/dmi/id/product_name", kMost);
    return text ? *text : std::string();
}

std::map<gpu::Uuid, std::uint32_t> pci_classes(const os::Root& root,
                                               const gpu::Inventory& inventory) {
    constexpr std::size_t kMost = 64;
    std::map<gpu::Uuid, std::uint32_t> classes;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const auto text =
            root.read("/sys/bus/pci/devices/" + gpu::to_text(gpu.pci) + "/class", kMost);
        if (!text || !text->starts_with("0x")) continue;
        if (const auto value = parse_hex(*text)) {
            classes[gpu.uuid] = static_cast<std::uint32_t>(*value);
        }
    }
    return classes;
}

bool has_nvidia_gpu(const os::Root& root) {
    constexpr std::size_t kMost = 64;
    constexpr char kDevices[] = "/sys/bus/pci/devices";
    const auto names = root.list(kDevices);
    if (!names) return false;
    return std::ranges::any_of(*names, [&](const std::string& name) {
        const std::string place = std::string(kDevices) + "/" + name;
        const auto vendor = root.read(place + "/vendor", kMost);
        if (!vendor || !vendor->starts_with("0x10de")) return false;
        const auto kind = root.read(place + "/class", kMost);
        return kind.ok() && kind->starts_with("0x03");  // display and 3D controllers
    });
}

}  // namespace aliquot::labels
