// SPDX-License-Identifier: Apache-2.0
#include "gpu/inventory.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace aliquot::gpu {
namespace {

/// The entry of `before` that is the same board as `gpu`, by the surest mark it can still tell.
const Gpu* same_board(const Inventory& before, const Gpu& gpu) {
    if (!gpu.uuid.text.empty()) return before.find(gpu.uuid);
    if (gpu.pci != PciAddress{}) {
        const auto match = std::ranges::find(before.gpus, gpu.pci, &Gpu::pci);
        return match == before.gpus.end() ? nullptr : &*match;
    }
    const auto match = std::ranges::find(before.gpus, gpu.index, &Gpu::index);
    return match == before.gpus.end() ? nullptr : &*match;
}

bool lists(const Inventory& inventory, const Gpu& wanted) {
    return std::ranges::any_of(inventory.gpus, [&](const Gpu& gpu) {
        return gpu.uuid == wanted.uuid ||
               (gpu.uuid.text.empty() && gpu.pci != PciAddress{} && gpu.pci == wanted.pci);
    });
}

}  // namespace

std::string_view to_text(Health::State state) {
    switch (state) {
        case Health::State::kHealthy:
            return "Healthy";
        case Health::State::kDegraded:
            return "Degraded";
        case Health::State::kUnhealthy:
            return "Unhealthy";
    }
    return "";
}

std::string to_text(const PciAddress& address) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", address.domain, address.bus,
                  address.device);
    return text.data();
}

const Gpu* Inventory::find(const Uuid& uuid) const {
    const auto match = std::ranges::find(gpus, uuid, &Gpu::uuid);
    return match == gpus.end() ? nullptr : &*match;
}

Inventory with_memory_of(const Inventory& before, Inventory now) {
    for (Gpu& gpu : now.gpus) {
        if (gpu.health.ok()) continue;
        const Gpu* known = same_board(before, gpu);
        if (known == nullptr || known->uuid.text.empty()) continue;
        // Another GPU that answers well may have taken this index after a renumbering.
        if (gpu.uuid.text.empty() && std::ranges::any_of(now.gpus, [&](const Gpu& other) {
                return &other != &gpu && other.uuid == known->uuid;
            })) {
            continue;
        }
        const Health health = gpu.health;
        const unsigned index = gpu.index;
        gpu = *known;
        gpu.health = health;
        gpu.index = index;
    }
    for (const Gpu& known : before.gpus) {
        if (known.uuid.text.empty() || lists(now, known)) continue;
        Gpu gone = known;
        gone.health = {Health::State::kUnhealthy, "the driver does not list it any more"};
        now.gpus.push_back(std::move(gone));
    }
    std::ranges::stable_sort(now.gpus, {}, &Gpu::index);
    if (now.links.size() != now.gpus.size()) now.links.clear();  // positions moved: read them anew
    return now;
}

}  // namespace aliquot::gpu
