// SPDX-License-Identifier: Apache-2.0
#include "plan/share.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "sizing/card.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

constexpr double kAssumedGib = 2.5;
constexpr double kStepMib = 64;

}  // namespace

double reserve_mib(const GpuPool& pool) {
    constexpr double kShare = 0.05;
    constexpr double kLeast = 512;
    return std::max(kLeast, kShare * memory_mib(pool));
}

double need_mib(const Workload& workload) {
    return (workload.memory_gib > 0 ? workload.memory_gib : kAssumedGib) * kMibPerGib;
}

bool can_wait(const Workload& w) {
    return w.kind == Kind::kTraining || w.kind == Kind::kBatch || w.kind == Kind::kCi ||
           w.preemptible || w.never_together;
}

std::string name_of(const Unit& unit) {
    return unit.workload->replicas == 1 ? unit.workload->name
                                        : unit.workload->name + "-" + std::to_string(unit.replica);
}

double most_need_mib(const GpuPool& pool, const Workload& workload) {
    return workload.load ? sizing::usable_by_a_model(memory_mib(pool)) : memory_mib(pool);
}

double slice_need_gib(const Workload& workload) {
    const double need = need_mib(workload) / kMibPerGib;
    return workload.load ? need / sizing::usable_by_a_model(1) : need;
}

bool holds_alone(const GpuPool& pool, const Workload& workload) {
    return workload.memory_gib * kMibPerGib <= most_need_mib(pool, workload);
}

double usable_mib(const GpuPool& pool) { return memory_mib(pool) - reserve_mib(pool); }

double most_share_mib(const GpuPool& pool, std::size_t shares) {
    constexpr double kSure = 0.995;
    const double each =
        kSure * memory_mib(pool) / static_cast<double>(std::max<std::size_t>(1, shares));
    return std::floor(each / kStepMib) * kStepMib;
}

double share_mib(const GpuPool& pool, std::size_t shares) {
    const double each = usable_mib(pool) / static_cast<double>(std::max<std::size_t>(1, shares));
    return std::floor(each / kStepMib) * kStepMib;
}

Share share_of(const Unit& unit, const Slot& slot, Mode mode) {
    Share share;
    share.workload = unit.workload->name;
    share.replica = unit.replica;
    share.mode = mode;
    share.need_mib = need_mib(*unit.workload);
    share.gpu = slot.index;
    share.pool = slot.pool->name;
    share.resource = "nvidia.com/gpu";
    return share;
}

GpuUse use_of(const Slot& slot, Mode mode) {
    GpuUse use;
    use.gpu = slot.index;
    use.pool = slot.pool->name;
    use.model = slot.pool->model->key;
    use.mode = mode;
    use.memory_mib = memory_mib(*slot.pool);
    use.reserve_mib = mode == Mode::kMig ? 0 : reserve_mib(*slot.pool);
    return use;
}

std::string risk_of(const Share& share, unsigned sharers) {
    const std::string others = std::to_string(sharers);
    constexpr double kTight = 0.1;
    const bool tight = share.need_mib > 0 && share.headroom_mib < kTight * share.need_mib;
    const std::string end = tight ? "; little headroom" : "";
    switch (share.mode) {
        case Mode::kExclusive:
            return "low: nothing else runs on this GPU" + end;
        case Mode::kFraction:
            return "medium: out of memory only at its own limit, but a driver fault can reach "
                   "all " +
                   others + end;
        case Mode::kTimeSlicing:
            return "high: any of the " + others + " can take the memory of all";
        case Mode::kMps:
            return "medium: a fatal fault of one ends all " + others + " clients" + end;
        case Mode::kMig:
            return "low: memory, time and faults are kept apart by the hardware" + end;
        case Mode::kSerial:
            return "low: waits while another one works";
        case Mode::kCpu:
            break;
    }
    return {};
}

void tell_unequal(Plan& plan, const GpuPool& pool, std::size_t shares, double most, double sum) {
    using sizing::gib_text;
    const std::string usable = gib_text(usable_mib(pool) / kMibPerGib);
    reject(plan, "PLN044", Mode::kFraction, "",
           "shares are equal: " + std::to_string(shares) + " of the largest need, " +
               gib_text(most / kMibPerGib) + ", are more than " + usable);
    plan.reasons.push_back({"PLN044", "one owner, and together they need " +
                                          gib_text(sum / kMibPerGib) + " of " + usable +
                                          ": turns, and each has to keep to its own memory"});
}

void forget_limits(Plan& plan) {
    const bool limits = std::ranges::any_of(
        plan.gpus, [](const GpuUse& use) { return use.mode == Mode::kFraction; });
    if (limits) return;
    plan.mode = Mode::kTimeSlicing;
    std::erase_if(plan.reasons, [](const Reason& one) { return one.rule == "PLN040"; });
    std::erase_if(plan.rejected, [](const Rejected& one) { return one.rule == "PLN042"; });
}

void make_serial(Plan& plan, GpuUse& use) {
    const bool parted = use.mode != Mode::kExclusive && use.mode != Mode::kSerial;
    use.mode = Mode::kSerial;
    if (!parted) return;
    use.replicas = 1;
    use.reserve_mib = 0;
    use.share_mib = use.memory_mib;
    use.needed_mib = 0;
    for (const std::size_t index : use.shares) {
        Share& share = plan.shares[index];
        share.mode = Mode::kSerial;
        share.memory_mib = use.memory_mib;
        share.headroom_mib = share.memory_mib - share.need_mib;
        share.compute_percent = static_cast<unsigned>(kPercent);
        share.risk = risk_of(share, 1);
        use.needed_mib = std::max(use.needed_mib, share.need_mib);
    }
}

void tell_crowded(Plan& plan) {
    plan.reasons.push_back(
        {"PLN045",
         "jobs whose duty nobody told share a GPU as far as its memory goes: each takes "
         "longer while the others work"});
}

unsigned free_gpus(const Draft& draft, const Workload& workload, unsigned promised) {
    const auto free = std::ranges::count_if(draft.slots, [&workload](const Slot& slot) {
        return !slot.whole && slot.units.empty() && holds_alone(*slot.pool, workload);
    });
    return static_cast<unsigned>(free) - std::min(promised, static_cast<unsigned>(free));
}

unsigned gpus_for(const Draft& draft, const std::vector<std::size_t>& units,
                  const std::function<double(const Workload&)>& duty_of) {
    unsigned gpus = 0;
    const GpuPool& pool = draft.request.pools.front();
    std::size_t on_gpu = 0;
    double sum = 0;
    double duty = 0;
    for (const std::size_t index : units) {
        const Workload& w = *draft.units[index].workload;
        sum += need_mib(w);
        duty += duty_of(w);
        ++on_gpu;
        const bool fits = sum <= usable_mib(pool) && duty <= kPercent && on_gpu <= kMostShares;
        if (on_gpu > 1 && !fits) {
            ++gpus;
            on_gpu = 1;
            sum = need_mib(w);
            duty = duty_of(w);
        }
    }
    if (on_gpu > 0) ++gpus;
    return gpus;
}

}  // namespace aliquot::plan
