// SPDX-License-Identifier: Apache-2.0
#include "plan/room.h"

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "plan/share.h"
#include "sizing/card.h"
#include "sizing/instance.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

/// Why a GPU cannot run the number format that somebody asked for; empty: it can.
std::string format_problem_on(const GpuPool& pool, const Workload& w) {
    return w.load && w.format_told ? sizing::format_problem(*pool.model, *w.load) : std::string();
}

}  // namespace

double Room::duty_of(const Workload& w) const {
    const bool guessed = w.duty_certainty == Certainty::kGuessed;
    return relaxation_.crowded && guessed && can_wait(w) ? 0 : w.duty_percent.value_or(0);
}

bool Room::never_holds(const Workload& w) const {
    return std::ranges::none_of(draft_.request.pools, [&w](const GpuPool& pool) {
        return need_mib(w) <= most_need_mib(pool, w) && format_problem_on(pool, w).empty();
    });
}

bool Room::machine_takes(const Slot& slot, const Workload& w) const {
    if (!format_problem_on(*slot.pool, w).empty()) return false;
    if (w.cpu <= 0 && w.host_memory_mib <= 0) return true;
    const auto fits = [&w](const GpuPool& pool) {
        if (pool.instance == nullptr) return true;
        sizing::PodNeed need;
        need.cpu = w.cpu;
        need.memory_mib = w.host_memory_mib;
        need.gpus = 0;
        return sizing::shortfalls(*pool.instance, need, {}).empty();
    };
    const auto known = machines_.find({slot.pool, &w});
    if (known != machines_.end()) return known->second;
    const bool takes = fits(*slot.pool) || std::ranges::none_of(draft_.request.pools, fits);
    machines_.emplace(std::pair(slot.pool, &w), takes);
    return takes;
}

bool Room::has_room(const Slot& slot, std::size_t index, Mode mode) const {
    const Workload& w = *draft_.units[index].workload;
    if (!machine_takes(slot, w)) return false;
    double most = need_mib(w);
    double sum = most;
    double duty = duty_of(w);
    for (const std::size_t other : slot.units) {
        const Workload& o = *draft_.units[other].workload;
        most = std::max(most, need_mib(o));
        sum += need_mib(o);
        duty += duty_of(o);
    }
    const std::size_t count = slot.units.size() + 1;
    const double usable = usable_mib(*slot.pool);
    switch (mode) {
        case Mode::kExclusive:
            return count == 1 && need_mib(w) <= most_need_mib(*slot.pool, w);
        case Mode::kSerial:
            return most <= usable;
        case Mode::kMig:
            return fits_mig(slot, index);
        case Mode::kTimeSlicing:
            return sum <= usable && duty <= kPercent && count <= kMostShares;
        case Mode::kFraction: {
            const bool unlimited = relaxation_.loose && sum <= usable && !asks_for_limits(slot, w);
            return (most <= share_mib(*slot.pool, count) || unlimited) && duty <= kPercent &&
                   count <= kMostShares;
        }
        case Mode::kMps:
            return most <= share_mib(*slot.pool, count) && duty <= kPercent &&
                   count <= kMostMpsClients;
        case Mode::kCpu:
            break;
    }
    return false;
}

/// Shares of unequal needs have no limits: not for who asks for one, nor beside it.
bool Room::asks_for_limits(const Slot& slot, const Workload& w) const {
    return w.isolation == Isolation::kMemory || std::ranges::any_of(slot.units, [&](std::size_t i) {
               return draft_.units[i].workload->isolation == Isolation::kMemory;
           });
}

Mode Room::turns_on(const GpuPool& pool) const {
    return draft_.request.guard && !pool.wsl ? Mode::kFraction : Mode::kTimeSlicing;
}

std::string Room::group_of(std::size_t index, const GpuPool& pool) const {
    const Unit& unit = draft_.units[index];
    const Workload& w = *unit.workload;
    const std::string tenant = "tenant " + w.tenant;
    const bool memory = w.isolation == Isolation::kMemory && turns_on(pool) == Mode::kTimeSlicing;
    if (w.isolation == Isolation::kFault || memory) {
        return tenant + '/' + w.name + '/' + std::to_string(unit.replica);
    }
    if (w.isolation == Isolation::kSecurity) return tenant + '/' + w.name;
    return tenant;
}

bool Room::may_share(const Slot& slot, const Workload& w) const {
    return w.isolation == Isolation::kNone && std::ranges::all_of(slot.units, [&](std::size_t i) {
               const Workload& other = *draft_.units[i].workload;
               return other.tenant == w.tenant && other.isolation == Isolation::kNone;
           });
}

/// "; in int8 one holds it": in which format, or with which training, a single GPU of these would do.
std::string Room::how_one_holds(const Workload& w) const {
    for (const Less& way : w.less) {
        for (const GpuPool& pool : draft_.request.pools) {
            const bool runs = sizing::format_problem(*pool.model, way.load).empty() &&
                              sizing::computes_in(*pool.model, way.load);
            if (runs && way.gib * kMibPerGib <= most_need_mib(pool, w)) {
                return "; " + way.how + " one holds it";
            }
        }
    }
    return {};
}

std::string Room::why_left_out(const Workload& w) const {
    double most_mib = 0;
    for (const GpuPool& pool : draft_.request.pools)
        most_mib = std::max(most_mib, most_need_mib(pool, w));
    if (need_mib(w) > most_mib) {
        return w.name + " needs " + sizing::gib_text(need_mib(w) / kMibPerGib) +
               (w.gpus > 1 ? " on each of " + std::to_string(w.gpus) : "") +
               ", no GPU here gives it more than " + sizing::gib_text(most_mib / kMibPerGib) +
               how_one_holds(w);
    }
    if (never_holds(w)) {
        const GpuPool& pool = draft_.request.pools.front();
        return w.name + " on " + std::string(pool.model->key) + ": " + format_problem_on(pool, w);
    }
    const double duty = w.duty_percent.value_or(0);
    double most_left = -1;
    for (const Slot& slot : draft_.slots) {
        const bool shares = may_share(slot, w);
        if (slot.units.empty() || (slot.whole && !shares)) continue;
        double sum = need_mib(w);
        double busy = duty;
        for (const std::size_t other : slot.units) {
            sum += need_mib(*draft_.units[other].workload);
            busy += draft_.units[other].workload->duty_percent.value_or(0);
        }
        if (shares) most_left = std::max(most_left, usable_mib(*slot.pool) - (sum - need_mib(w)));
        if (sum > usable_mib(*slot.pool)) continue;
        if (busy > kPercent) {
            return "the memory of a GPU would hold " + w.name +
                   " too, but they would keep it busy " + decimal_text(busy) +
                   " % of the time (duty)";
        }
        if (slot.units.size() + 1 > kMostShares) {
            return "at most " + decimal_text(kMostShares) +
                   " share a GPU: the guard has a slot for each";
        }
    }
    if (w.gpus > 1) {
        return w.name + " needs " + std::to_string(w.gpus) + " GPUs with " +
               sizing::gib_text(need_mib(w) / kMibPerGib) + " on each, " +
               std::to_string(free_gpus(draft_, w, 0)) + " such are free" + how_one_holds(w);
    }
    if (most_left >= 0 && most_left < need_mib(w)) {
        return w.name + " needs " + sizing::gib_text(need_mib(w) / kMibPerGib) +
               ", and beside the others at most " + sizing::gib_text(most_left / kMibPerGib) +
               " is left on a GPU";
    }
    return "no GPU is left for " + w.name;
}

MigNeed Room::mig_need_of(const Slot& slot, std::size_t index) const {
    const Workload& w = *draft_.units[index].workload;
    const bool guessed = w.duty_certainty == Certainty::kGuessed;
    const double duty = guessed ? 0 : w.duty_percent.value_or(0);
    return mig_need(*slot.pool->model, slice_need_gib(w), duty);
}

std::vector<MigNeed> Room::mig_needs_of(const Slot& slot) const {
    std::vector<MigNeed> needs;
    for (const std::size_t index : slot.units) needs.push_back(mig_need_of(slot, index));
    return needs;
}

bool Room::fits_mig(const Slot& slot, std::size_t index) const {
    // Thousands of GPUs get the same few sets of workloads: each is tried once.
    std::pair<const GpuPool*, std::vector<const Workload*>> key{slot.pool, {}};
    for (const std::size_t unit : slot.units) {
        key.second.push_back(draft_.units[unit].workload);
    }
    key.second.push_back(draft_.units[index].workload);
    const auto known = fits_.find(key);
    if (known != fits_.end()) return known->second;
    auto needs = mig_needs_of(slot);
    needs.push_back(mig_need_of(slot, index));
    const bool fits = place_needs(needs).has_value();
    fits_.emplace(std::move(key), fits);
    return fits;
}

}  // namespace aliquot::plan
