// SPDX-License-Identifier: Apache-2.0
#include "labels/sysfs.h"

#include <charconv>

namespace aliquot::labels {

std::string machine_name(const os::Root& root) {
    constexpr std::size_t kMost = 4096;
    const auto text = root.read("/sys/class/dmi/id/product_name", kMost);
    return text ? *text : std::string();
}

std::map<gpu::Uuid, std::uint32_t> pci_classes(const os::Root& root,
                                               const gpu::Inventory& inventory) {
    constexpr std::size_t kMost = 64;
    constexpr int kHex = 16;
    std::map<gpu::Uuid, std::uint32_t> classes;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const auto text =
            root.read("/sys/bus/pci/devices/" + gpu::to_text(gpu.pci) + "/class", kMost);
        if (!text || !text->starts_with("0x")) continue;
        std::uint32_t value = 0;
        const char* const end = text->data() + text->size();
        const auto [stop, problem] = std::from_chars(text->data() + 2, end, value, kHex);
        if (problem == std::errc{}) classes[gpu.uuid] = value;
    }
    return classes;
}

}  // namespace aliquot::labels
