// SPDX-License-Identifier: Apache-2.0
#include "placement/patience.h"

namespace aliquot::placement {
namespace {

/// Whether GPUs rather than CPU will be what runs out. Much of the free CPU is where no GPU is free, so there must
/// be twice as much of it for each free GPU as the target workload asks for. Where CPU is short, a GPU that is
/// kept for others may never be used.
bool gpus_are_scarce(const Engine& engine) {
    constexpr double kAmple = 2;
    double cpu = 0;
    double gpu = 0;
    for (const TaskType& type : engine.workload()) {
        if (type.request.gpus == 0) continue;
        cpu += type.popularity * type.request.cpu_milli;
        gpu += type.popularity * type.request.gpu_milli();
    }
    return static_cast<double>(engine.free_cpu_beside_gpus()) * gpu >=
           kAmple * cpu * static_cast<double>(engine.free_milli());
}

}  // namespace

bool had_better_wait(Engine& engine, const Request& request) {
    constexpr std::int64_t kHundred = 100;
    const std::int64_t capacity = engine.capacity_milli();
    if (!request.is_share() || request.milli == 0) return false;
    if ((capacity - engine.free_milli()) * kHundred < capacity * kPatientFromPercent) return false;
    const auto best = engine.what_if(request);
    return best && best->cost.waste > 0 && gpus_are_scarce(engine);
}

}  // namespace aliquot::placement
