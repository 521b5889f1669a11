// SPDX-License-Identifier: Apache-2.0
// What a workload takes that runs a model, and what its kind lets guess.
#include <array>

#include "base/number.h"
#include "plan/workload.h"
#include "sizing/card.h"
#include "sizing/memory.h"

namespace aliquot::plan {
namespace {

/// Other number formats, and other kinds of training, with what they take of one GPU.
std::vector<Less> ways_to_take_less(const sizing::ModelShape& shape, const sizing::Load& load) {
    std::vector<Less> ways;
    const auto add = [&](std::string how, const sizing::Load& changed) {
        if (const auto need = sizing::estimate_memory(shape, changed)) {
            ways.push_back({std::move(how), changed, need->total_gib});
        }
    };
    sizing::Load changed = load;
    changed.gpus = 1;
    if (load.task == sizing::Task::kInference) {
        for (const auto dtype : {sizing::Dtype::kFp8, sizing::Dtype::kInt8, sizing::Dtype::kInt4}) {
            changed.dtype = dtype;
            if (dtype != load.dtype && sizing::is_smaller(shape, dtype, load.dtype)) {
                add("in " + std::string(sizing::to_text(dtype)), changed);
            }
        }
        return ways;
    }
    for (const auto task : {sizing::Task::kTrainLora, sizing::Task::kTrainQlora}) {
        changed.task = task;
        if (task > load.task)
            add(task == sizing::Task::kTrainLora ? "with LoRA" : "with QLoRA", changed);
    }
    return ways;
}

}  // namespace

Result<Done> fill_memory_of_model(Workload& workload, const sizing::ModelShape& shape,
                                  const sizing::Load& load, bool part) {
    const auto need = sizing::estimate_memory(shape, load);
    if (!need) return need.error();
    workload.memory_gib = load.gpus > 1 ? need->per_gpu_gib : need->total_gib;
    workload.memory_certainty = need->certainty;
    const std::string training = std::string(sizing::to_text(load.task)) + " of ";
    workload.memory_reason = (load.task == sizing::Task::kInference ? "" : training) + shape.name +
                             " in " + std::string(sizing::to_text(load.dtype)) + ", " +
                             decimal_text(need->context) + " tokens, batch " +
                             decimal_text(load.batch);
    workload.load = load;
    workload.less = ways_to_take_less(shape, load);
    if (!sizing::divides_heads(shape, load)) {
        workload.part_problem = std::to_string(load.gpus) + " GPUs do not divide the " +
                                std::to_string(shape.heads) + " heads of " + shape.name +
                                ": tensor parallel needs 2, 4 or 8";
    }
    for (const unsigned gpus : sizing::kParallelCounts) {
        if (gpus == 1) continue;
        sizing::Load parted = load;
        parted.gpus = gpus;
        const auto each = sizing::estimate_memory(shape, parted);
        if (part && each && sizing::divides_heads(shape, parted)) {
            workload.parted.emplace_back(gpus, each->per_gpu_gib);
        }
    }
    return Done{};
}

Result<sizing::Load> training_load(const sizing::ModelShape& shape, std::string_view training) {
    sizing::Load load;
    load.dtype = sizing::usual_dtype(shape);
    if (training.empty()) return load;
    if (!sizing::trains_by_shape(shape)) {
        return Error{ErrorCode::kUnsupported, "what " + shape.name +
                                                  " takes in training is not known; measure it, "
                                                  "and give 'memory' of the workload"};
    }
    load.task = training == "full"   ? sizing::Task::kTrainFull
                : training == "lora" ? sizing::Task::kTrainLora
                                     : sizing::Task::kTrainQlora;
    load.dtype = sizing::Dtype::kBf16;
    if (shape.kind == "encoder") load.checkpointing = sizing::Checkpointing::kNone;
    return load;
}

void fill_guesses(Workload& workload) {
    constexpr std::array<double, 6> kDuty{20, 90, 5, 30, 80, 15};
    constexpr std::array<bool, 6> kBursty{false, false, true, true, false, true};
    const auto index = static_cast<std::size_t>(workload.kind);
    if (!workload.duty_percent) workload.duty_percent = kDuty[index];
    workload.bursty = workload.bursty || kBursty[index];
}

}  // namespace aliquot::plan
