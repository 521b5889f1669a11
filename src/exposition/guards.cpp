// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/units.h"
#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

using guard_region::DeviceStatus;
using guard_region::RegionStatus;
using Number = std::optional<std::uint64_t>;

struct OfGuard {
    std::string_view family;
    Number (*value)(const DeviceStatus&);
    unsigned digits = 0;
};

constexpr unsigned kMicro = 6;

Number unless_zero(std::uint64_t value) { return value == 0 ? std::nullopt : Number(value); }

constexpr std::array kOfGuards{
    OfGuard{"aliquot_guard_memory_limit_bytes",
            [](const DeviceStatus& d) { return unless_zero(d.limits.memory_bytes); }},
    OfGuard{"aliquot_guard_memory_used_bytes",
            [](const DeviceStatus& d) { return Number(d.used_bytes); }},
    OfGuard{"aliquot_guard_memory_tracked_bytes",
            [](const DeviceStatus& d) { return Number(d.tracked_bytes); }},
    OfGuard{"aliquot_guard_memory_overhead_bytes",
            [](const DeviceStatus& d) { return Number(d.overhead_bytes); }},
    OfGuard{"aliquot_guard_memory_peak_bytes",
            [](const DeviceStatus& d) { return Number(d.peak_bytes); }},
    OfGuard{"aliquot_guard_memory_driver_bytes",
            [](const DeviceStatus& d) { return d.driver_bytes; }},
    OfGuard{"aliquot_guard_alloc_denied_total",
            [](const DeviceStatus& d) { return Number(d.denied); }},
    OfGuard{"aliquot_guard_gpu_seconds_total",
            [](const DeviceStatus& d) { return Number(d.gpu_ns); }, kNanoDigits},
    OfGuard{"aliquot_guard_throttled_seconds_total",
            [](const DeviceStatus& d) { return Number(d.throttled_ns); }, kNanoDigits},
    OfGuard{"aliquot_guard_overruns_total",
            [](const DeviceStatus& d) { return Number(d.overruns); }},
    OfGuard{"aliquot_guard_processes", [](const DeviceStatus& d) { return Number(d.processes); }},
    OfGuard{"aliquot_guard_unguarded_processes",
            [](const DeviceStatus& d) { return Number(d.unguarded); }},
    OfGuard{"aliquot_guard_compute_cap_ratio",
            [](const DeviceStatus& d) { return unless_zero(d.limits.cap_ppm); }, kMicro},
};

/// A device of a region with its labels.
struct Row {
    const RegionStatus* region;
    const DeviceStatus* device;
    std::string labels;
};

std::vector<Row> rows_of(const std::vector<RegionStatus>& regions) {
    std::vector<Row> rows;
    for (const RegionStatus& region : regions) {
        for (const DeviceStatus& device : region.devices) {
            Row& row = rows.emplace_back(Row{&region, &device, {}});
            append_label(row.labels, "namespace", region.pod_namespace);
            append_label(row.labels, "pod", region.pod);
            append_label(row.labels, "container", region.container);
            append_label(row.labels, "uuid", device.uuid);
            append_label(row.labels, "region", region.id);
        }
    }
    return rows;
}

}  // namespace

void write_guards(Text& text, const Scene& scene) {
    if (scene.style.guards == Guards::kOff || !scene.snapshot.regions) return;
    const std::vector<Row> rows = rows_of(*scene.snapshot.regions);
    for (const OfGuard& family : kOfGuards) {
        if (scene.style.guards == Guards::kOwn && find_family(family.family)->listed) continue;
        text.family(family.family);
        for (const Row& row : rows) {
            if (const Number value = family.value(*row.device)) {
                text.row(row.labels).is(Decimal{*value, family.digits, false});
            }
        }
    }
    text.family("aliquot_guard_remarks");
    for (const Row& row : rows) {
        for (const std::string_view remark : row.device->remarks) {
            text.row(row.labels).label("remark", remark).is(1U);
        }
    }
    text.family("aliquot_guard_ledger_readable");
    for (const Row& row : rows) text.row(row.labels).is(row.region->problem.empty() ? 1U : 0U);
}

}  // namespace aliquot::exposition
