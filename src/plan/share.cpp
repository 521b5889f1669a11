// SPDX-License-Identifier: Apache-2.0
#include "plan/share.h"

#include <algorithm>
#include <cmath>

namespace aliquot::plan {
namespace {

constexpr double kMibPerGib = 1024;
constexpr double kAssumedGib = 2.5;
constexpr double kPercent = 100;
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

double usable_mib(const GpuPool& pool) { return memory_mib(pool) - reserve_mib(pool); }

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

unsigned gpus_for(const Draft& draft, const std::vector<std::size_t>& units) {
    unsigned gpus = 0;
    const GpuPool& pool = draft.request.pools.front();
    std::size_t on_gpu = 0;
    double most = 0;
    double duty = 0;
    for (const std::size_t index : units) {
        const Workload& w = *draft.units[index].workload;
        most = std::max(most, need_mib(w));
        duty += w.duty_percent.value_or(0);
        ++on_gpu;
        const bool fits =
            most <= share_mib(pool, on_gpu) && duty <= kPercent && on_gpu <= kMostShares;
        if (on_gpu > 1 && !fits) {
            ++gpus;
            on_gpu = 1;
            most = need_mib(w);
            duty = w.duty_percent.value_or(0);
        }
    }
    if (on_gpu > 0) ++gpus;
    return gpus;
}

}  // namespace aliquot::plan
