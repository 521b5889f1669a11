// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "abi/region.h"
#include "base/result.h"

/// A container's ledger read as what it is: a file in the hands of a tenant.
namespace aliquot::guard_region {

/// a + b, or the largest number when that is more.
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t sum = a + b;
    return sum < a ? ~std::uint64_t{0} : sum;
}

/// What one process says it uses of one device.
struct SlotUse {
    std::uint64_t tracked_bytes = 0;
    std::uint64_t managed_bytes = 0;
    std::uint64_t overhead_bytes = 0;
    std::uint32_t changes = 0;
    std::uint32_t contexts = 0;

    [[nodiscard]] std::uint64_t bytes() const {
        return saturating_add(tracked_bytes, overhead_bytes);
    }
    [[nodiscard]] bool any() const { return contexts > 0 || bytes() > 0; }
};

/// One process that has joined.
struct SlotView {
    unsigned index = 0;
    std::uint64_t owner = 0;
    std::uint64_t start_time = 0;                        // 0: not told
    std::uint64_t pid_namespace = 0;                     // 0: not told
    bool alive = false;                                  // the process holds its lock
    std::array<SlotUse, abi::kRegionDevices> devices{};  // by place in LedgerView::devices

    /// As the process itself sees it.
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(owner >> 32U); }
};

/// Totals of one device.
struct LedgerDevice {
    abi::DeviceUuid uuid{};  // all zero: the place is free
    std::uint64_t used_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t denied = 0;
    std::uint64_t denied_bytes = 0;
    std::uint32_t remarks = 0;  // abi::Remark
    std::uint64_t gpu_ns = 0;
    std::uint64_t throttled_ns = 0;
    std::uint64_t launches = 0;
    std::uint64_t overruns = 0;
};

/// A copy of all that we read of a ledger. Every figure may be a lie; none can do harm.
struct LedgerView {
    std::uint64_t region = 0;
    std::uint32_t recoveries = 0;
    std::array<LedgerDevice, abi::kRegionDevices> devices{};
    std::vector<SlotView> slots;  // those with an owner, by index

    /// Place of the device; empty when no process has used it yet.
    [[nodiscard]] std::optional<unsigned> place_of(const abi::DeviceUuid& uuid) const;
    [[nodiscard]] const SlotView* find(unsigned index, std::uint64_t owner) const;
};

/// Where what was ever used of a ledger ends, by its head; at most sizeof(abi::Ledger).
/// head   at least kLedgerHead bytes
std::size_t used_end(std::span<const std::byte> head);
inline constexpr std::size_t kLedgerHead = offsetof(abi::Ledger, slots);

/// Reads a ledger. No slot is alive: only the file itself knows (ledger_file.h).
/// content   of its beginning, down to used_end() or beyond
/// size      of the whole
/// errors    kInvalidInput: too short, or not a ledger of this version
Result<LedgerView> parse_ledger(std::span<const std::byte> content, std::uint64_t size);

}  // namespace aliquot::guard_region
