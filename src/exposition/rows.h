// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/style.h"
#include "telemetry/snapshot.h"

/// What the writers of families walk over: each GPU, part and container once, with its labels
/// written already and with remainders counted, so that a row is a few copies.
namespace aliquot::exposition {

/// Labels in Rows::labels.
struct Block {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
};

/// The tenants of a part that have the same labels, together: a container that holds two
/// resources, or one that is not known by name.
struct PodRow {
    const telemetry::Tenant* tenant = nullptr;  // the first of them
    bool ended = false;                         // only its counters are told
    telemetry::Source source = telemetry::Source::kNone;
    std::uint64_t entitlement_ppm = 0;
    telemetry::Amounts amounts;
    std::optional<std::uint64_t> share_utilization_ppm;
    std::optional<std::uint64_t> memory_limit_bytes;
    std::optional<std::uint64_t> memory_peak_bytes;
    std::optional<std::uint64_t> denied;
    std::optional<std::uint64_t> throttled_ns;
    std::uint64_t held_ns = 0;
    std::optional<std::uint64_t> idle_held_ns;
    std::optional<std::uint64_t> idle_ns;
    std::size_t processes = 0;
    Block native;   // namespace, pod, container
    Block foreign;  // container, namespace, pod, and what Style adds
};

/// Labels of a GPU or of a part of it under each group's names.
struct Names {
    Block native;
    Block classic;
    Block renamed;
    Block older;
};

struct PartRow {
    const telemetry::Part* part = nullptr;
    Names names;
    std::vector<PodRow> pods;
    /// The container that has the part to itself, as whole GPUs and MIG devices without replicas
    /// are given away; nullptr: it is shared, or nobody's.
    const PodRow* alone = nullptr;
    /// The part's total less its rows, so that all rows add up to the total. Absent where the total
    /// is.
    telemetry::Amounts rest;
    /// Of the rest's counters: of containers without a row.
    std::uint64_t ended_busy_ns = 0;
    std::uint64_t ended_energy_millijoules = 0;
};

struct DeviceRow {
    const telemetry::Device* device = nullptr;
    bool fresh = false;  // its metrics are young enough to be told
    bool cut = false;    // into MIG instances
    Names names;
    Block openshift;
    std::vector<PartRow> parts;
    /// Of a cut GPU: its total less what its parts' rows tell.
    telemetry::Amounts rest;
    std::uint64_t ended_energy_millijoules = 0;
    std::uint64_t allocated_bytes = 0;
};

struct Rows {
    std::string labels;
    std::vector<DeviceRow> devices;
    [[nodiscard]] std::string_view view(Block block) const {
        return std::string_view(labels).substr(block.at, block.size);
    }
};

/// The rows point into the snapshot.
Rows make_rows(const telemetry::Snapshot& snapshot, const Style& style);

/// "00000000:8D:00.0", as NVML spells it.
std::string bus_id(const gpu::PciAddress& address);

/// "hopper"; "cc 4.2" of one that we do not know.
std::string architecture(unsigned major, unsigned minor);

}  // namespace aliquot::exposition
