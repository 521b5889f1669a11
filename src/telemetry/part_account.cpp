// SPDX-License-Identifier: Apache-2.0
#include "telemetry/part_account.h"

#include <algorithm>
#include <tuple>

#include "telemetry/split.h"

namespace aliquot::telemetry {
namespace {

using gpu::Metric;

std::uint64_t count_of(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

/// What a occupant has used since the sample before, and how that is known.
struct Use {
    std::optional<std::uint64_t> ns;
    Source source = Source::kNone;
};

/// What the guard has counted since the sample before.
std::optional<std::uint64_t> guard_use(const Occupant& occupant,
                                       const std::optional<std::uint64_t>& before) {
    if (occupant.guard == nullptr || !before) return std::nullopt;
    const std::uint64_t now = occupant.guard->gpu_ns;
    return now >= *before ? now - *before : now;  // a new container begins at 0
}

Use use_of(const Occupant& occupant, const Occupants& occupants, const PartAccount::Entry& entry,
           const std::optional<BusyStretch>& busy) {
    if (occupant.whole && busy) return {.ns = busy->busy_ns, .source = Source::kWhole};
    const auto guarded = guard_use(occupant, entry.guard_gpu_ns);
    const bool metered = occupant.guard != nullptr && (occupant.guard->limits.cap_ppm != 0 ||
                                                       occupant.guard->limits.weight != 0);
    if (metered && guarded && !entry.guard_check.is_missing_work())
        return {.ns = guarded, .source = Source::kGuard};
    if (occupants.uses_known)
        return {.ns = occupant.process_use_ns.value_or(0), .source = Source::kDriver};
    if (guarded && occupant.guard->gpu_ns > 0) return {.ns = guarded, .source = Source::kGuard};
    if (!occupants.processes_known) return {};
    if (occupant.processes.empty()) return {.ns = 0, .source = Source::kDriver};
    const auto users = std::ranges::count_if(
        occupants.list, [](const Occupant& one) { return !one.processes.empty(); });
    if (busy && users == 1 && occupants.others.empty()) {
        return {.ns = busy->busy_ns, .source = Source::kDriver};
    }
    return {};
}

/// The driver counts in whole per cent: what is missing from the sum by no more than that is theirs.
/// A guard misses the time between kernels in which the GPU counts as busy: where nobody else is on
/// the GPU a small rest is of those that it counts.
std::uint64_t of_all(const BusyStretch& busy, std::uint64_t sum, std::size_t users,
                     bool guards_alone) {
    constexpr std::uint64_t kSmall = 8;
    const std::uint64_t rounding =
        std::max(busy.span_ns / 100 * (users + 1), guards_alone ? busy.busy_ns / kSmall : 0);
    if (sum == 0 || sum > busy.busy_ns || busy.busy_ns - sum <= rounding) return sum;
    return busy.busy_ns;
}

/// Who may have used what nobody here has.
std::vector<std::uint64_t> absent_weights(const Occupants& occupants,
                                          const std::vector<Use>& uses) {
    std::vector<std::uint64_t> weights;
    for (const Occupant& occupant : occupants.list)
        weights.push_back(occupant.left_weight + occupant.late_weight);
    const bool anybody = occupants.others_left_weight != 0 ||
                         std::ranges::any_of(weights, [](std::uint64_t one) { return one != 0; });
    // Guards miss some work all the time: that is not of somebody who has just come.
    const bool guards = std::ranges::any_of(
        uses, [](const Use& use) { return use.source == Source::kGuard && use.ns != 0; });
    if (anybody || guards) return weights;
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = occupants.list[i].maybe_ran ? 1 : 0;
    return weights;
}

/// Gives time of the part that nobody here has used to those who left, or came and went.
void add_absent(const Occupants& occupants, std::uint64_t rest, std::vector<Use>& uses,
                std::vector<std::uint64_t>& weights) {
    const auto absent = absent_weights(occupants, uses);
    std::uint64_t all = occupants.others_left_weight;
    for (const std::uint64_t one : absent) all += one;
    // A sample that was not over when they left is told a look late.
    const auto late = static_cast<std::uint64_t>(kSamplingPeriod.count());
    auto parts = divide(rest, absent, all);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Occupant& occupant = occupants.list[i];
        if (occupant.late_weight != 0 && occupant.left_weight == 0)
            parts[i] = std::min(parts[i], late);
        if (parts[i] == 0) continue;
        weights[i] += parts[i];
        uses[i].ns = weights[i];
        if (uses[i].source == Source::kNone) uses[i].source = Source::kDriver;
    }
}

std::optional<std::uint64_t> per_million(std::uint64_t part, std::uint64_t span) {
    return scaled(part, kMillion, span);
}

bool by_name(const PartAccount::Entry& a, const PartAccount::Entry& b) {
    const auto key = [](const Tenant& row) {
        return std::tie(row.owner.pod_namespace, row.owner.pod, row.owner.container, row.resource,
                        row.owner.pod_uid);
    };
    return key(a.row) < key(b.row);
}

std::vector<Process> without_uses(std::vector<MeteredProcess>& metered,
                                  const std::optional<BusyStretch>& busy) {
    std::vector<Process> processes;
    processes.reserve(metered.size());
    for (MeteredProcess& one : metered) {
        if (one.use_ns && busy && busy->span_ns != 0) {
            one.process.utilization_ppm =
                std::min(per_million(*one.use_ns, busy->span_ns).value_or(0), kMillion);
        }
        processes.push_back(std::move(one.process));
    }
    std::ranges::sort(processes, {}, &Process::pid);
    return processes;
}

/// total - sum of a member over the rows; absent when the total is.
std::optional<std::uint64_t> rest_of(const std::optional<std::uint64_t>& total,
                                     const std::vector<PartAccount::Entry>& entries,
                                     std::optional<std::uint64_t> Amounts::*member) {
    if (!total) return std::nullopt;
    std::uint64_t rest = *total;
    for (const auto& entry : entries)
        rest -= std::min(rest, (entry.row.amounts.*member).value_or(0));
    return rest;
}

}  // namespace

void PartAccount::resume(const Part& kept, os::TimePoint now) {
    busy_known_ = kept.total.busy_ns.has_value();
    busy_ns_ = kept.total.busy_ns.value_or(0);
    shown_.ended_busy_ns = kept.ended_busy_ns;
    shown_.ended_energy_millijoules = kept.ended_energy_millijoules;
    for (const Tenant& tenant : kept.tenants) {
        entries_.push_back({.row = tenant, .last_seen = now});
        entries_.back().row.idle_ns.reset();
    }
}

void PartAccount::note(const PartIdentity& identity, const Sample& sample, Occupants occupants) {
    shown_.gpu_instance = identity.gpu_instance;
    shown_.profile = identity.profile;
    shown_.mig_devices = identity.gpu_instance ? identity.devices : std::vector<gpu::Uuid>();
    shown_.metrics = sample.metrics;
    slices_ = identity.slices;
    departures_.note(occupants);
    note_rows(occupants, sample);
    note_memory(sample);
    retire(sample.now);
    shown_.others = without_uses(occupants.others, sample.busy);
    std::ranges::sort(entries_, by_name);
}

void PartAccount::note_rows(Occupants& occupants, const Sample& sample) {
    for (Entry& entry : entries_) entry.seen = false;
    for (Occupant& occupant : occupants.list)
        fill(entry_of(occupant), occupant, occupants.processes_known, sample);
    note_busy(occupants, sample);
    for (Occupant& occupant : occupants.list) {
        Entry& entry = entry_of(occupant);
        entry.guard_gpu_ns =
            occupant.guard == nullptr ? std::nullopt : std::optional(occupant.guard->gpu_ns);
        entry.row.processes = without_uses(occupant.processes, sample.busy);
    }
}

PartAccount::Entry& PartAccount::entry_of(const Occupant& occupant) {
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
        if (entry.row.resource != occupant.resource) return false;
        if (entry.row.owner.container != occupant.owner.container) return false;
        return same_container(entry.row.owner, occupant.owner);
    });
    if (found != entries_.end()) return *found;
    entries_.push_back({.row = {.owner = occupant.owner, .resource = occupant.resource}});
    return entries_.back();
}

void PartAccount::fill(Entry& entry, const Occupant& occupant, bool processes_known,
                       const Sample& sample) {
    Tenant& row = entry.row;
    const bool is_new = entry.last_seen == os::TimePoint{};
    entry.seen = true;
    entry.whole = occupant.whole;
    entry.last_seen = sample.now;
    row.owner = occupant.owner;
    row.ids = occupant.ids;
    row.ended = occupant.gone;
    row.entitlement_ppm = occupant.entitlement_ppm;
    row.memory_limit_bytes = occupant.memory_limit_bytes;
    if (!occupant.ids.empty() && !is_new) row.held_ns += count_of(sample.elapsed);
    const auto used = sample.metrics.whole(Metric::kMemoryUsedBytes);
    row.amounts.memory_bytes.reset();
    if (occupant.whole && used) {
        row.amounts.memory_bytes = used;
    } else if (occupant.process_memory_bytes) {
        row.amounts.memory_bytes = occupant.process_memory_bytes;
    } else if (occupant.guard != nullptr && occupant.guard->driver_bytes) {
        row.amounts.memory_bytes = occupant.guard->driver_bytes;
    } else if (occupant.guard != nullptr) {
        row.amounts.memory_bytes = occupant.guard->used_bytes;
    } else if (processes_known && occupant.processes.empty() && !occupant.gone) {
        row.amounts.memory_bytes = 0;
    }
    if (occupant.whole && !row.memory_limit_bytes) {
        const auto total = sample.metrics.whole(Metric::kMemoryTotalBytes);
        const auto kept = sample.metrics.whole(Metric::kMemoryReservedBytes);
        if (total) row.memory_limit_bytes = *total - std::min(*total, kept.value_or(0));
    }
    if (occupant.guard != nullptr) {
        row.denied = occupant.guard->denied;
        row.throttled_ns = occupant.guard->throttled_ns;
        row.memory_peak_bytes =
            std::max(row.memory_peak_bytes.value_or(0), occupant.guard->peak_bytes);
    }
}

void PartAccount::note_busy(const Occupants& occupants, const Sample& sample) {
    std::vector<Use> uses;
    std::vector<std::uint64_t> weights;
    std::uint64_t sum = occupants.others_use_ns;
    std::size_t users = 0;
    for (const Occupant& occupant : occupants.list) {
        Entry& entry = entry_of(occupant);
        const auto guarded = guard_use(occupant, entry.guard_gpu_ns);
        if (guarded && occupant.process_use_ns && sample.busy)
            entry.guard_check.note(*guarded, *occupant.process_use_ns, sample.busy->span_ns);
        uses.push_back(use_of(occupant, occupants, entry, sample.busy));
        weights.push_back(uses.back().ns.value_or(0));
        sum += weights.back();
        if (weights.back() != 0) ++users;
    }
    if (sample.busy) {
        busy_known_ = true;
        busy_ns_ += sample.busy->busy_ns;
        const bool guards_alone = occupants.processes_known && occupants.others.empty() &&
                                  std::ranges::all_of(uses, [](const Use& use) {
                                      return use.source == Source::kGuard || use.ns == 0;
                                  });
        const bool all_known =
            occupants.processes_known &&
            std::ranges::all_of(uses, [](const Use& use) { return use.ns.has_value(); });
        const std::uint64_t busy = sample.busy->busy_ns;
        std::uint64_t all = of_all(*sample.busy, sum, users, guards_alone);
        if (all_known && sum < busy && (all == busy || sum == 0)) {
            add_absent(occupants, busy - sum, uses, weights);
            all = busy;
        }
        weights = divide(busy, weights, all);
        if (sample.busy->span_ns != 0) {
            total_.utilization_ppm = per_million(sample.busy->busy_ns, sample.busy->span_ns);
        }
    } else {
        total_.utilization_ppm.reset();
    }
    const std::uint64_t span =
        sample.busy ? sample.busy->span_ns : count_of(sample.elapsed);  // a guard needs no samples
    for (std::size_t i = 0; i < uses.size(); ++i) {
        Entry& entry = entry_of(occupants.list[i]);
        Tenant& row = entry.row;
        row.source = uses[i].source;
        if (!uses[i].ns) {
            row.amounts.utilization_ppm.reset();
            row.share_utilization_ppm.reset();
            continue;
        }
        row.amounts.busy_ns = row.amounts.busy_ns.value_or(0) + weights[i];
        if (span != 0) {
            row.amounts.utilization_ppm = per_million(weights[i], span);
            if (!occupants.list[i].ids.empty()) {
                const bool busy = weights[i] != 0;
                row.idle_held_ns =
                    row.idle_held_ns.value_or(0) + (busy ? 0 : count_of(sample.elapsed));
                row.idle_ns = busy ? 0 : row.idle_ns.value_or(0) + count_of(sample.elapsed);
            }
        }
        if (row.entitlement_ppm != 0 && row.amounts.utilization_ppm) {
            row.share_utilization_ppm =
                scaled(*row.amounts.utilization_ppm, kMillion, row.entitlement_ppm);
        }
    }
    server_only_ = std::ranges::any_of(occupants.others, [](const MeteredProcess& one) {
        return one.use_ns.value_or(0) != 0 && one.process.command.starts_with("nvidia-cuda-mps");
    });
}

void PartAccount::note_memory(const Sample& sample) {
    total_.memory_bytes = sample.metrics.whole(Metric::kMemoryUsedBytes);
    std::vector<std::uint64_t> held;
    for (const Entry& entry : entries_) {
        held.push_back(entry.seen ? entry.row.amounts.memory_bytes.value_or(0) : 0);
    }
    // Memory and processes are read one after the other: what is above the total came in between.
    if (total_.memory_bytes) held = divide(*total_.memory_bytes, held, *total_.memory_bytes);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Tenant& row = entries_[i].row;
        if (!entries_[i].seen || !row.amounts.memory_bytes) continue;
        row.amounts.memory_bytes = held[i];
        row.memory_peak_bytes = std::max(row.memory_peak_bytes.value_or(0), held[i]);
    }
}

void PartAccount::retire(os::TimePoint now) {
    std::size_t ended = 0;
    for (Entry& entry : entries_) {
        if (entry.seen) continue;
        ++ended;
        Tenant& row = entry.row;
        row.ended = true;
        row.ids.clear();
        row.processes.clear();
        row.amounts.memory_bytes.reset();
        row.amounts.utilization_ppm.reset();
        row.amounts.power_milliwatts.reset();
        row.share_utilization_ppm.reset();
        row.idle_ns.reset();
    }
    std::ranges::stable_sort(entries_, [](const Entry& a, const Entry& b) {
        return a.seen != b.seen ? !a.seen : a.last_seen < b.last_seen;
    });
    const auto leaves = [&](const Entry& entry) {
        if (entry.seen) return false;
        const bool too_many = ended > options_.most_ended;
        if (!too_many && now - entry.last_seen <= options_.keep_ended) return false;
        --ended;
        shown_.ended_busy_ns += entry.row.amounts.busy_ns.value_or(0);
        shown_.ended_energy_millijoules += entry.row.amounts.energy_millijoules.value_or(0);
        return true;
    };
    std::erase_if(entries_, leaves);
}

Part PartAccount::show() const {
    Part part = shown_;
    part.total = total_;
    if (busy_known_) part.total.busy_ns = busy_ns_;
    part.remainder = {
        .memory_bytes = rest_of(part.total.memory_bytes, entries_, &Amounts::memory_bytes),
        .utilization_ppm = rest_of(part.total.utilization_ppm, entries_, &Amounts::utilization_ppm),
        .busy_ns = rest_of(part.total.busy_ns, entries_, &Amounts::busy_ns)};
    part.tenants.reserve(entries_.size());
    for (const Entry& entry : entries_) part.tenants.push_back(entry.row);
    return part;
}

}  // namespace aliquot::telemetry
