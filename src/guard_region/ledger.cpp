// SPDX-License-Identifier: Apache-2.0
#include "guard_region/ledger.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

/// Reads members of the layout by their offsets; all of them are inside what was checked.
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    [[nodiscard]] T at(std::size_t offset) const {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    [[nodiscard]] std::uint64_t number(std::size_t offset) const {
        return at<std::uint64_t>(offset);
    }
    [[nodiscard]] std::uint64_t fenced(std::size_t offset) const {
        return number(offset) & abi::kMostFenced;
    }

private:
    std::span<const std::byte> bytes_;
};

LedgerDevice read_device(const Bytes& bytes, std::size_t base) {
    using Device = abi::DeviceLedger;
    return {.uuid = bytes.at<abi::DeviceUuid>(base + offsetof(Device, uuid)),
            .used_bytes = bytes.fenced(base + offsetof(Device, used_bytes)),
            .peak_bytes = bytes.number(base + offsetof(Device, peak_bytes)),
            .denied = bytes.number(base + offsetof(Device, denied)),
            .denied_bytes = bytes.number(base + offsetof(Device, denied_bytes)),
            .remarks = bytes.at<std::uint32_t>(base + offsetof(Device, remarks)),
            .gpu_ns = bytes.number(base + offsetof(Device, gpu_ns)),
            .throttled_ns = bytes.number(base + offsetof(Device, throttled_ns)),
            .launches = bytes.number(base + offsetof(Device, launches)),
            .overruns = bytes.number(base + offsetof(Device, overruns))};
}

SlotUse read_use(const Bytes& bytes, std::size_t base) {
    using Use = abi::SlotDevice;
    return {.tracked_bytes = bytes.fenced(base + offsetof(Use, tracked_bytes)),
            .managed_bytes = bytes.fenced(base + offsetof(Use, managed_bytes)),
            .overhead_bytes = bytes.fenced(base + offsetof(Use, overhead_bytes)),
            .changes = bytes.at<std::uint32_t>(base + offsetof(Use, changes)),
            .contexts = bytes.at<std::uint32_t>(base + offsetof(Use, contexts))};
}

}  // namespace

std::optional<unsigned> LedgerView::place_of(const abi::DeviceUuid& uuid) const {
    if (is_none(uuid)) return std::nullopt;
    for (unsigned i = 0; i < devices.size(); ++i) {
        if (same(devices[i].uuid, uuid)) return i;
    }
    return std::nullopt;
}

const SlotView* LedgerView::find(unsigned index, std::uint64_t owner) const {
    const auto found = std::ranges::find(slots, index, &SlotView::index);
    return found != slots.end() && found->owner == owner ? &*found : nullptr;
}

std::size_t used_end(std::span<const std::byte> head) {
    const auto high = Bytes(head).fenced(offsetof(abi::Ledger, slots_high));
    return kLedgerHead + std::min<std::uint64_t>(high, abi::kRegionSlots) * sizeof(abi::Slot);
}

Result<LedgerView> parse_ledger(std::span<const std::byte> content, std::uint64_t size) {
    size = content.size() < kLedgerHead ? content.size() : size;
    if (size < sizeof(abi::Ledger) || content.size() < used_end(content)) {
        return Error{ErrorCode::kInvalidInput,
                     "the ledger has " + std::to_string(size) + " bytes; expected " +
                         std::to_string(sizeof(abi::Ledger)) + ": it was cut short"};
    }
    const Bytes bytes(content);
    if (bytes.number(offsetof(abi::Ledger, magic)) != abi::kLedgerMagic ||
        bytes.at<std::uint32_t>(offsetof(abi::Ledger, abi)) != abi::kRegionAbi ||
        bytes.at<std::uint32_t>(offsetof(abi::Ledger, size)) != sizeof(abi::Ledger)) {
        return Error{ErrorCode::kInvalidInput,
                     "not a guard's ledger of this version: its head was overwritten"};
    }
    LedgerView view{.region = bytes.number(offsetof(abi::Ledger, region)),
                    .recoveries = bytes.at<std::uint32_t>(offsetof(abi::Ledger, recoveries))};
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        view.devices[i] = read_device(
            bytes, offsetof(abi::Ledger, devices) + std::size_t{i} * sizeof(abi::DeviceLedger));
    }
    const std::size_t end = used_end(content);
    unsigned index = 0;
    for (std::size_t base = kLedgerHead; base < end; base += sizeof(abi::Slot), ++index) {
        const std::uint64_t owner = bytes.number(base + offsetof(abi::Slot, owner));
        if (owner == 0) continue;
        SlotView& slot = view.slots.emplace_back();
        slot.index = index;
        slot.owner = owner;
        slot.start_time = bytes.number(base + offsetof(abi::Slot, start_time));
        slot.pid_namespace = bytes.number(base + offsetof(abi::Slot, pid_namespace));
        for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
            slot.devices[d] = read_use(bytes, base + offsetof(abi::Slot, devices) +
                                                  std::size_t{d} * sizeof(abi::SlotDevice));
        }
    }
    return view;
}

}  // namespace aliquot::guard_region
