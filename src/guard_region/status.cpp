// SPDX-License-Identifier: Apache-2.0
#include "guard_region/status.h"

#include <array>
#include <utility>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

struct RemarkText {
    std::uint32_t bit;
    std::string_view name;
    std::string_view meaning;
};

constexpr std::array<RemarkText, 9> kRemarks{{
    {abi::kRemarkNoArbiter, "no_arbiter",
     "a weight is set, but nobody kept turns: it was not kept"},
    {abi::kRemarkWaitedTooLong, "waited_too_long",
     "work was let through out of turn after the longest wait"},
    {abi::kRemarkUnknownEntry, "unknown_entry",
     "the driver has an entry point for memory that this guard does not know"},
    {abi::kRemarkNoTiming, "no_timing", "the driver gives no times of GPU work: a cap is not kept"},
    {abi::kRemarkLockTimeout, "lock_timeout", "a lock was not given up in time"},
    {abi::kRemarkTableFull, "table_full", "allocations were let through uncounted"},
    {abi::kRemarkOverLimit, "over_limit", "contexts and kernels have grown beyond the limit"},
    {abi::kRemarkNoTruth, "no_truth", "the driver does not say what each process holds"},
    {abi::kRemarkPersistentKernel, "persistent_kernel",
     "a kernel that does not end holds the GPU beyond its share"},
}};

void add_slots(const LedgerView& ledger, unsigned place, DeviceStatus& status) {
    for (const SlotView& slot : ledger.slots) {
        const SlotUse& use = slot.devices[place];
        if (!slot.alive || !use.any()) continue;
        ++status.processes;
        status.tracked_bytes = saturating_add(status.tracked_bytes, use.tracked_bytes);
        status.overhead_bytes = saturating_add(status.overhead_bytes, use.overhead_bytes);
    }
    status.used_bytes = saturating_add(status.tracked_bytes, status.overhead_bytes);
}

void split_holder(const std::string& holder, RegionStatus& status) {
    const auto first = holder.find('/');
    const auto second = first == holder.npos ? holder.npos : holder.find('/', first + 1);
    if (second == holder.npos) {
        status.container = holder;
        return;
    }
    status.pod_namespace = holder.substr(0, first);
    status.pod = holder.substr(first + 1, second - first - 1);
    status.container = holder.substr(second + 1);
}

}  // namespace

std::vector<std::string_view> remark_names(std::uint32_t remarks) {
    std::vector<std::string_view> names;
    for (const RemarkText& remark : kRemarks) {
        if ((remarks & remark.bit) != 0) names.push_back(remark.name);
    }
    return names;
}

std::string_view meaning_of(std::string_view remark) {
    for (const RemarkText& one : kRemarks) {
        if (one.name == remark) return one.meaning;
    }
    return {};
}

RegionStatus make_status(const Record& record, const Settings& settings, const Reading& reading) {
    RegionStatus status{.id = record.id,
                        .resource = record.resource,
                        .device_ids = record.device_ids,
                        .fail_open = settings.fail_open,
                        .problem = reading.problem};
    split_holder(record.holder, status);
    if (reading.ledger) status.recoveries = reading.ledger->recoveries;
    for (std::size_t i = 0; i < settings.devices.size(); ++i) {
        DeviceStatus& device = status.devices.emplace_back();
        device.limits = settings.devices[i];
        if (i < record.uuids.size()) device.limits.uuid = record.uuids[i];
        device.uuid = device.limits.uuid;
        if (i < reading.devices.size() && reading.devices[i].answered) {
            device.driver_bytes = reading.devices[i].held_bytes();
            if (reading.ledger) device.unguarded = reading.devices[i].unguarded();
        }
        const auto uuid = parse_uuid(device.uuid);
        if (!reading.ledger || !uuid) continue;
        const auto place = reading.ledger->place_of(*uuid);
        if (!place) continue;
        const LedgerDevice& ledger = reading.ledger->devices[*place];
        device.peak_bytes = ledger.peak_bytes;
        device.denied = ledger.denied;
        device.denied_bytes = ledger.denied_bytes;
        device.gpu_ns = ledger.gpu_ns;
        device.throttled_ns = ledger.throttled_ns;
        device.overruns = ledger.overruns;
        device.remarks = remark_names(ledger.remarks);
        add_slots(*reading.ledger, *place, device);
    }
    return status;
}

}  // namespace aliquot::guard_region
