// SPDX-License-Identifier: Apache-2.0
#include "dra/places.h"

#include <filesystem>

#include "base/text.h"

namespace aliquot::dra {

PlaceFacts read_places(const os::Root& root, const gpu::Inventory& inventory) {
    PlaceFacts facts;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        std::error_code problem;
        const auto link = std::filesystem::read_symlink(
            root.resolve("/sys/bus/pci/devices/" + lower(to_text(gpu.pci))), problem);
        if (problem) continue;
        for (const auto& part : link) {
            const std::string& name = part.native();
            // "pci0000:64": the first of ../../../devices/pci0000:64/0000:64:01.0/0000:65:00.0
            if (name.starts_with("pci") && name.find(':') != std::string::npos) {
                facts.pcie_roots.emplace(gpu.uuid, name);
                break;
            }
        }
    }
    return facts;
}

}  // namespace aliquot::dra
