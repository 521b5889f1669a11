// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

using gpu::Metric;

/// Xids that rules ask for: their series start at 0, so that increase() sees the first one.
constexpr std::array<unsigned, 12> kWatchedXids{48, 62,  64,  74,  79,  94,
                                                95, 119, 120, 140, 143, 158};

/// "13.0" of 13000.
std::string cuda_text(int version) {
    constexpr int kMajor = 1000;
    constexpr int kMinor = 10;
    return std::to_string(version / kMajor) + '.' + std::to_string(version % kMajor / kMinor);
}

void write_infos(Text& text, const Scene& scene) {
    text.family("gpu_info");
    for (const DeviceRow& row : scene.rows.devices) {
        const gpu::Gpu& gpu = row.device->gpu;
        text.row(scene.rows.view(row.names.native))
            .label("model", gpu.model)
            .label("pci_bus_id", bus_id(gpu.pci))
            .label("minor", gpu.minor)
            .label("driver_version", scene.snapshot.driver_version)
            .label("cuda_version", cuda_text(scene.snapshot.cuda_version))
            .label("arch", architecture(gpu.compute_major, gpu.compute_minor))
            .label("sharing", grant::metric_text(row.device->layout.mechanism))
            .label("replicas", row.device->layout.replicas)
            .is(1U);
    }
    for (const bool health : {false, true}) {
        text.family(health ? "gpu_mig_device_healthy" : "gpu_mig_device_info");
        for (const DeviceRow& row : scene.rows.devices) {
            for (const gpu::MigDevice& device : row.device->gpu.mig_devices) {
                text.row(scene.rows.view(row.names.native))
                    .label("gi", device.gpu_instance)
                    .label("profile", device.profile)
                    .label("mig_uuid", device.uuid.text)
                    .is(!health || device.health.ok() ? 1U : 0U);
            }
        }
    }
}

void write_slots(Text& text, const Scene& scene) {
    for (const bool allocated : {false, true}) {
        text.family(allocated ? "gpu_slots_allocated" : "gpu_slots");
        for (const DeviceRow& row : scene.rows.devices) {
            const telemetry::Layout& layout = row.device->layout;
            for (const auto& [resource, count] : layout.slots) {
                const auto held = layout.allocated.find(resource);
                const unsigned taken = held == layout.allocated.end() ? 0 : held->second;
                text.row(scene.rows.view(row.names.native))
                    .label("resource", resource)
                    .is(allocated ? taken : count);
            }
        }
    }
    text.family("gpu_memory_allocated_bytes");
    for (const DeviceRow& row : scene.rows.devices) {
        if (row.parts.empty()) continue;
        text.row(scene.rows.view(row.names.native)).is(row.allocated_bytes);
    }
    if (const auto price = scene.snapshot.price_per_gpu_hour) {
        text.family("gpu_price_per_hour");
        for (const DeviceRow& row : scene.rows.devices) {
            text.row(scene.rows.view(row.names.native)).is(*price);
        }
    }
    text.family("gpu_last_read_timestamp_seconds");
    for (const DeviceRow& row : scene.rows.devices) {
        if (!row.device->read_at) continue;
        text.row(scene.rows.view(row.names.native)).is(seconds_of(*row.device->read_at));
    }
}

void write_health(Text& text, const Scene& scene) {
    text.family("gpu_healthy");
    for (const DeviceRow& row : scene.rows.devices) {
        const gpu::Health& health = row.device->gpu.health;
        text.row(scene.rows.view(row.names.native));
        if (!health.reason.empty()) text.label("reason", health.reason);
        text.is(health.ok() ? 1U : 0U);
    }
}

void write_xids(Text& text, const Scene& scene) {
    text.family("gpu_xid_errors_total");
    for (const DeviceRow& row : scene.rows.devices) {
        const std::string_view labels = scene.rows.view(row.names.native);
        const auto& seen = row.device->xids;
        for (const unsigned xid : kWatchedXids) {
            const bool known = std::any_of(seen.begin(), seen.end(),
                                           [xid](const auto& count) { return count.xid == xid; });
            if (!known) text.row(labels).label("xid", xid).is(0U);
        }
        for (const telemetry::XidCount& count : seen) {
            text.row(labels).label("xid", count.xid).is(count.count);
        }
    }
    text.family("gpu_xid_last_timestamp_seconds");
    for (const DeviceRow& row : scene.rows.devices) {
        for (const telemetry::XidCount& count : row.device->xids) {
            text.row(scene.rows.view(row.names.native))
                .label("xid", count.xid)
                .is(seconds_of(count.last));
        }
    }
}

}  // namespace

void write_inventory(Text& text, const Scene& scene) {
    write_infos(text, scene);
    write_slots(text, scene);
    write_health(text, scene);
    write_xids(text, scene);
}

Decimal seconds_of(telemetry::Moment moment) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(moment.time_since_epoch()).count();
    constexpr unsigned kDigits = 3;
    return {ms < 0 ? 0 : static_cast<std::uint64_t>(ms), kDigits, false};
}

}  // namespace aliquot::exposition
