// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/address.h"

#include <mutex>

#include "sim/cuda/driver.h"
#include "sim/cuda/ranges.h"

namespace aliquot::sim {

bool reach(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return true;
    if (address + bytes < address) return false;
    if (Device* const device = Driver::get().device_of(address); device != nullptr) {
        if (!touch(*device, address, bytes)) return false;
        move_managed(*device, address, true);
        return true;
    }
    // Mappings may lie side by side.
    while (bytes > 0) {
        const auto range = find_range(address);
        if (!range || !range->accessible) return false;
        const std::uint64_t here = range->address + range->bytes - address;
        if (here >= bytes) return true;
        address += here;
        bytes -= here;
    }
    return true;
}

bool known_address(std::uint64_t address) {
    return Driver::get().device_of(address) != nullptr || find_range(address).has_value();
}

bool page_locked(std::uint64_t address) {
    const auto range = find_range(address);
    return range && (range->kind == RangeKind::kHost || range->kind == RangeKind::kRegistered);
}

void move_managed(Device& device, std::uint64_t address, bool to_device) {
    const std::lock_guard lock(device.mutex);
    const auto found = device.arena.blocks_at(address);
    if (!found || found->use != Use::kManaged || found->resident == to_device) return;
    if (to_device) {
        if (device.account.grow(found->span) != CUDA_SUCCESS) return;  // it stays on the host
    } else {
        device.account.shrink(found->span);
    }
    device.arena.set_resident(address, to_device);
}

}  // namespace aliquot::sim
