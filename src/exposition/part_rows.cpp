// SPDX-License-Identifier: Apache-2.0
#include "exposition/part_rows.h"

#include <algorithm>
#include <tuple>

namespace aliquot::exposition {
namespace {

using telemetry::Amounts;
using telemetry::Part;
using telemetry::Tenant;
using Amount = std::optional<std::uint64_t> Amounts::*;

auto labels_of(const Tenant& tenant) {
    return std::make_tuple(std::string_view(tenant.owner.pod_namespace), pod_name(tenant.owner),
                           container_name(tenant.owner));
}

bool is_named(const Tenant& tenant) {
    return !tenant.owner.pod_namespace.empty() || !pod_name(tenant.owner).empty() ||
           !container_name(tenant.owner).empty();
}

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
    if (more) sum = sum.value_or(0) + *more;
}

void add_most(std::optional<std::uint64_t>& least, const std::optional<std::uint64_t>& other) {
    if (other) least = least ? std::min(*least, *other) : *other;
}

/// Use of two entitlements together, from the use of each.
std::optional<std::uint64_t> share_of_both(const PodRow& row, const Tenant& tenant) {
    if (!row.share_utilization_ppm) return tenant.share_utilization_ppm;
    if (!tenant.share_utilization_ppm) return row.share_utilization_ppm;
    const std::uint64_t both = row.entitlement_ppm + tenant.entitlement_ppm;
    if (both == 0) return row.share_utilization_ppm;
    const double used =
        static_cast<double>(*row.share_utilization_ppm) * static_cast<double>(row.entitlement_ppm) +
        static_cast<double>(*tenant.share_utilization_ppm) *
            static_cast<double>(tenant.entitlement_ppm);
    return static_cast<std::uint64_t>(used / static_cast<double>(both));
}

void put(PodRow& row, const Tenant& tenant) {
    if (row.tenant == nullptr) {
        row.tenant = &tenant;
        row.ended = tenant.ended;
        row.source = tenant.source;
    }
    row.source = std::min(row.source, tenant.source);
    row.share_utilization_ppm = share_of_both(row, tenant);
    row.entitlement_ppm += tenant.entitlement_ppm;
    add(row.amounts.memory_bytes, tenant.amounts.memory_bytes);
    add(row.amounts.utilization_ppm, tenant.amounts.utilization_ppm);
    add(row.amounts.busy_ns, tenant.amounts.busy_ns);
    add(row.amounts.power_milliwatts, tenant.amounts.power_milliwatts);
    add(row.amounts.energy_millijoules, tenant.amounts.energy_millijoules);
    add(row.memory_limit_bytes, tenant.memory_limit_bytes);
    add(row.memory_peak_bytes, tenant.memory_peak_bytes);
    add(row.denied, tenant.denied);
    add(row.throttled_ns, tenant.throttled_ns);
    row.held_ns = std::max(row.held_ns, tenant.held_ns);
    add_most(row.idle_held_ns, tenant.idle_held_ns);
    add_most(row.idle_ns, tenant.idle_ns);
    row.processes += tenant.processes.size();
}

std::optional<std::uint64_t> less(const std::optional<std::uint64_t>& total, std::uint64_t sum) {
    if (!total) return std::nullopt;
    return *total - std::min(*total, sum);
}

void count_rest(PartRow& row, const Part& part) {
    const auto rest = [&row, &part](Amount amount, bool counter) {
        return less(part.total.*amount, sum_of(row.pods, amount, counter));
    };
    row.rest.memory_bytes = rest(&Amounts::memory_bytes, false);
    row.rest.utilization_ppm = rest(&Amounts::utilization_ppm, false);
    row.rest.power_milliwatts = rest(&Amounts::power_milliwatts, false);
    row.rest.busy_ns = rest(&Amounts::busy_ns, true);
    row.rest.energy_millijoules = rest(&Amounts::energy_millijoules, true);
    if (row.rest.busy_ns) row.ended_busy_ns = std::min(row.ended_busy_ns, *row.rest.busy_ns);
    if (row.rest.energy_millijoules) {
        row.ended_energy_millijoules =
            std::min(row.ended_energy_millijoules, *row.rest.energy_millijoules);
    }
}

const PodRow* sole_holder(const std::vector<PodRow>& pods) {
    const PodRow* only = nullptr;
    for (const PodRow& pod : pods) {
        if (pod.ended) continue;
        if (only != nullptr) return nullptr;
        only = &pod;
    }
    return only != nullptr && only->entitlement_ppm > 0 ? only : nullptr;
}

}  // namespace

std::string_view pod_name(const pods::Owner& owner) {
    return owner.pod.empty() ? owner.pod_uid : owner.pod;
}

std::string_view container_name(const pods::Owner& owner) {
    constexpr std::size_t kStart = 12;
    return owner.container.empty() ? std::string_view(owner.container_id).substr(0, kStart)
                                   : owner.container;
}

std::uint64_t sum_of(std::span<const PodRow> pods, Amount amount, bool counter) {
    std::uint64_t sum = 0;
    for (const PodRow& pod : pods) {
        if (counter || !pod.ended) sum += (pod.amounts.*amount).value_or(0);
    }
    return sum;
}

PartRow make_part(const Part& part, unsigned replicas) {
    PartRow row;
    row.part = &part;
    row.ended_busy_ns = part.ended_busy_ns;
    row.ended_energy_millijoules = part.ended_energy_millijoules;
    std::vector<const Tenant*> tenants;
    tenants.reserve(part.tenants.size());
    for (const Tenant& tenant : part.tenants) {
        if (is_named(tenant)) tenants.push_back(&tenant);
    }
    std::stable_sort(tenants.begin(), tenants.end(), [](const Tenant* a, const Tenant* b) {
        return std::make_tuple(labels_of(*a), a->ended) < std::make_tuple(labels_of(*b), b->ended);
    });
    row.pods.reserve(tenants.size());
    const Tenant* last = nullptr;
    for (const Tenant* tenant : tenants) {
        if (last == nullptr || labels_of(*last) != labels_of(*tenant)) {
            row.pods.emplace_back();
        } else if (tenant->ended && !row.pods.back().ended) {
            row.ended_busy_ns += tenant->amounts.busy_ns.value_or(0);
            row.ended_energy_millijoules += tenant->amounts.energy_millijoules.value_or(0);
            continue;
        }
        put(row.pods.back(), *tenant);
        last = tenant;
    }
    if (replicas <= 1) row.alone = sole_holder(row.pods);
    count_rest(row, part);
    return row;
}

}  // namespace aliquot::exposition
