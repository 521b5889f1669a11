// SPDX-License-Identifier: Apache-2.0
#include "mig/board.h"

#include "base/number.h"
#include "catalog/gpu_models.h"

namespace aliquot::mig {
namespace {

std::optional<std::uint32_t> hexadecimal(const Result<std::string>& text) {
    if (!text || !text->starts_with("0x")) return std::nullopt;
    std::string_view digits = std::string_view(*text).substr(2);
    return take_number<std::uint32_t>(digits, 16);
}

}  // namespace

std::vector<Board> boards_of(const os::Root& root, const gpu::Inventory& inventory) {
    std::vector<Board> boards;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const std::string sysfs = "/sys/bus/pci/devices/" + gpu::to_text(gpu.pci) + "/subsystem_";
        const auto device = hexadecimal(root.read(sysfs + "device"));
        const auto vendor = hexadecimal(root.read(sysfs + "vendor"));
        Board board{.gpu = gpu.uuid,
                    .index = gpu.index,
                    .pci_device_id = gpu.pci_device_id,
                    .mig_capable = gpu.mig_capable};
        if (device && vendor) board.subsystem = *device << 16U | *vendor;
        boards.push_back(std::move(board));
    }
    return boards;
}

std::optional<Geometry> known_geometry(const gpu::Gpu& gpu) {
    constexpr unsigned kMibShift = 20;
    const catalog::GpuModel* const model =
        catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> kMibShift));
    if (model == nullptr) return std::nullopt;
    auto geometry = geometry_of(*model);
    if (!geometry) return std::nullopt;
    return *std::move(geometry);
}

}  // namespace aliquot::mig
