// SPDX-License-Identifier: Apache-2.0
#include "exposition/rows.h"

#include <algorithm>
#include <tuple>

#include "exposition/part_rows.h"
#include "exposition/text.h"
#include "gpu/architecture.h"

namespace aliquot::exposition {
namespace {

using telemetry::Amounts;
using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using Amount = std::optional<std::uint64_t> Amounts::*;

/// Writes blocks of labels one behind another.
class Labels {
public:
    Labels(std::string& all, const Snapshot& snapshot, const Style& style)
        : all_(all), snapshot_(snapshot), style_(style) {}

    Block native(const Device& device, const Part* part) {
        std::string& text = fresh();
        append_label(text, "node", snapshot_.node);
        append_label(text, "gpu", device.gpu.index);
        append_label(text, "uuid", device.gpu.uuid.text);
        if (part != nullptr) {
            append_label(text, "gi", *part->gpu_instance);
            append_label(text, "profile", part->profile);
        }
        return kept();
    }

    /// Of NVIDIA's exporter: up to 4.8, or of 4.9.
    Block dcgm(const Device& device, const Part* part, bool renamed) {
        std::string& text = fresh();
        append_label(text, "gpu", device.gpu.index);
        append_label(text, "UUID", device.gpu.uuid.text);
        append_label(text, "pci_bus_id", bus_id(device.gpu.pci));
        append_label(text, "device", "nvidia" + std::to_string(device.gpu.minor));
        append_label(text, "modelName", device.gpu.model);
        if (part != nullptr) {
            append_label(text, "GPU_I_PROFILE", part->profile);
            append_label(text, "GPU_I_ID", *part->gpu_instance);
        }
        if (!renamed && style_.capital_hostname) append_label(text, "Hostname", snapshot_.node);
        if (renamed || style_.small_hostname) append_label(text, "hostname", snapshot_.node);
        if (style_.kubernetes_node) append_label(text, "kubernetes_node", snapshot_.node);
        if (snapshot_.driver_version.empty()) return kept();
        if (style_.counters) {
            for (const std::string& name : style_.counters->labels) {
                append_label(text, name, snapshot_.driver_version);
            }
        } else {
            append_label(text, renamed ? "DCGM_FI_SYSTEM_DRIVER_VERSION" : "DCGM_FI_DRIVER_VERSION",
                         snapshot_.driver_version);
        }
        return kept();
    }

    Block older(const Device& device, const Part* part) {
        std::string& text = fresh();
        append_label(text, "minor_number", device.gpu.minor);
        if (part == nullptr) {
            append_label(text, "uuid", device.gpu.uuid.text);
            append_label(text, "name", device.gpu.model);
        } else {
            append_label(text, "uuid",
                         part->mig_devices.empty()
                             ? device.gpu.uuid.text + '/' + std::to_string(*part->gpu_instance)
                             : part->mig_devices.front().text);
            append_label(text, "name", device.gpu.model + " MIG " + part->profile);
        }
        append_label(text, "gpu", device.gpu.index);
        append_label(text, "node", snapshot_.node);
        return kept();
    }

    Block openshift(const Device& device) {
        std::string& text = fresh();
        append_label(text, "gpu", device.gpu.index);
        append_label(text, "UUID", device.gpu.uuid.text);
        append_label(text, "modelName", device.gpu.model);
        append_label(text, "Hostname", snapshot_.node);
        append_label(text, "kubernetes_node", snapshot_.node);
        return kept();
    }

    Names names(const Device& device, const Part* part) {
        Names names;
        names.native = native(device, part);
        if (style_.compat == Compat::kOff) return names;
        if (style_.compat != Compat::kRenamed || style_.counters) {
            names.classic = dcgm(device, part, false);
        }
        if (style_.compat != Compat::kClassic || style_.counters) {
            names.renamed = dcgm(device, part, true);
        }
        names.older = older(device, part);
        return names;
    }

    void pod(PodRow& row) {
        const std::string_view pod = pod_name(row.tenant->owner);
        const std::string_view container = container_name(row.tenant->owner);
        std::string& native = fresh();
        append_label(native, "namespace", row.tenant->owner.pod_namespace);
        append_label(native, "pod", pod);
        append_label(native, "container", container);
        row.native = kept();
        if (style_.compat == Compat::kOff) return;
        std::string& foreign = fresh();
        append_label(foreign, "container", container);
        append_label(foreign, "namespace", row.tenant->owner.pod_namespace);
        append_label(foreign, "pod", pod);
        if (style_.pod_uid) append_label(foreign, "pod_uid", row.tenant->owner.pod_uid);
        if (style_.exported_labels) {
            append_label(foreign, "exported_container", container);
            append_label(foreign, "exported_namespace", row.tenant->owner.pod_namespace);
            append_label(foreign, "exported_pod", pod);
        }
        row.foreign = kept();
    }

private:
    std::string& fresh() {
        text_.clear();
        return text_;
    }
    Block kept() {
        const Block block{static_cast<std::uint32_t>(all_.size()),
                          static_cast<std::uint32_t>(text_.size())};
        all_ += text_;
        return block;
    }

    std::string& all_;
    std::string text_;
    const Snapshot& snapshot_;
    const Style& style_;
};

/// What the rows of a part tell of an amount: its total, or where that is not known its pods'.
std::uint64_t told(const PartRow& row, Amount amount, bool counter) {
    if (const auto& total = row.part->total.*amount) return *total;
    return sum_of(row.pods, amount, counter);
}

/// What is left of a cut GPU's total.
std::optional<std::uint64_t> rest_of(const DeviceRow& row, Amount amount, bool counter) {
    const auto& total = row.device->total.*amount;
    if (!total) return std::nullopt;
    std::uint64_t sum = 0;
    for (const PartRow& part : row.parts) sum += told(part, amount, counter);
    return *total - std::min(*total, sum);
}

void count_rest(DeviceRow& row) {
    row.rest.memory_bytes = rest_of(row, &Amounts::memory_bytes, false);
    row.rest.power_milliwatts = rest_of(row, &Amounts::power_milliwatts, false);
    row.rest.energy_millijoules = rest_of(row, &Amounts::energy_millijoules, true);
    for (const PartRow& part : row.parts) {
        if (!part.part->total.energy_millijoules) {
            row.ended_energy_millijoules += part.ended_energy_millijoules;
        }
    }
    row.ended_energy_millijoules =
        std::min(row.ended_energy_millijoules, row.rest.energy_millijoules.value_or(0));
}

/// What the holders of a part may use of its memory.
std::uint64_t allocated_of(const PartRow& row) {
    const auto capacity = row.part->metrics.get(gpu::Metric::kMemoryTotalBytes);
    if (!capacity || *capacity < 0) return 0;
    const auto bytes = static_cast<std::uint64_t>(*capacity);
    std::uint64_t sum = 0;
    for (const PodRow& pod : row.pods) {
        if (pod.ended || pod.entitlement_ppm == 0) continue;
        const auto share = static_cast<std::uint64_t>(
            *capacity * static_cast<double>(pod.entitlement_ppm) / telemetry::kMillion);
        sum += std::min(pod.memory_limit_bytes.value_or(share), bytes);
    }
    return std::min(sum, bytes);
}

bool is_fresh(const Snapshot& snapshot, const Device& device, const Style& style) {
    if (!device.read_at) return false;
    return device.problem.empty() || snapshot.at - *device.read_at <= style.stale_after;
}

}  // namespace

Rows make_rows(const Snapshot& snapshot, const Style& style) {
    Rows rows;
    Labels labels(rows.labels, snapshot, style);
    rows.devices.reserve(snapshot.devices.size());
    for (const Device& device : snapshot.devices) {
        DeviceRow& row = rows.devices.emplace_back();
        row.device = &device;
        row.fresh = is_fresh(snapshot, device, style);
        row.names = labels.names(device, nullptr);
        if (style.openshift) row.openshift = labels.openshift(device);
        row.parts.reserve(device.parts.size());
        for (const Part& part : device.parts) {
            PartRow& made = row.parts.emplace_back(make_part(part, device.layout.replicas));
            row.cut = row.cut || part.gpu_instance.has_value();
            made.names = part.gpu_instance ? labels.names(device, &part) : row.names;
            for (PodRow& pod : made.pods) labels.pod(pod);
            row.allocated_bytes += allocated_of(made);
        }
        if (row.cut) count_rest(row);
    }
    return rows;
}

std::string bus_id(const gpu::PciAddress& address) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string text;
    const auto hex = [&text, kDigits](unsigned value, unsigned digits) {
        for (unsigned shift = digits * 4; shift > 0; shift -= 4) {
            text += kDigits[(value >> (shift - 4)) & 0xFU];
        }
    };
    hex(address.domain, 8);
    text += ':';
    hex(address.bus, 2);
    text += ':';
    hex(address.device, 2);
    return text + ".0";
}

std::string architecture(unsigned major, unsigned minor) {
    const std::string_view name = gpu::architecture_of(major, minor);
    if (!name.empty()) return std::string(name);
    return "cc " + std::to_string(major) + '.' + std::to_string(minor);
}

}  // namespace aliquot::exposition
