// SPDX-License-Identifier: Apache-2.0
#include "sizing/card.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/number.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

constexpr double kLongestTried = 1 << 20U;
constexpr double kLargestTried = 4096;

/// The largest whole number from 1 to `most` that holds; 0: not even 1. What holds for a number holds for
/// all below it.
double largest(double most, const std::function<bool(double)>& holds) {
    double low = 0;
    double high = most + 1;
    while (high - low > 1) {
        const double middle = std::floor((low + high) / 2);
        (holds(middle) ? low : high) = middle;
    }
    return low;
}

bool fits(const ModelShape& shape, const Load& load, double usable_gib) {
    const auto need = estimate_memory(shape, load);
    return need && need->per_gpu_gib <= usable_gib;
}

std::string smaller_format(const ModelShape& shape, Load load, const catalog::GpuModel& model,
                           double usable_gib) {
    const Dtype now = load.dtype;
    const bool trains = load.task != Task::kInference;
    for (const Dtype dtype : {Dtype::kFp16, Dtype::kFp8, Dtype::kInt8, Dtype::kInt4}) {
        load.dtype = dtype;
        if (!is_smaller(shape, dtype, now) || !format_problem(model, load).empty()) continue;
        if (trains && dtype != Dtype::kFp16)
            continue;  // LoRA and QLoRA are other kinds of training
        if (!computes_in(model, load)) continue;
        if (fits(shape, load, usable_gib)) return std::string(to_text(dtype));
    }
    return {};
}

/// What of the load has to be less so that it fits: the context, the batch, or the kind of training.
std::string smaller_load(const ModelShape& shape, const Load& load, double usable_gib) {
    constexpr double kStep = 256;
    const bool trains = load.task != Task::kInference;
    std::vector<std::string> ways;
    Load tried = load;
    if (load.context > kStep && (shape.has_cache() || (trains && shape.layers > 0))) {
        const double tokens = largest(load.context - 1, [&](double context) {
            tried.context = context;
            return fits(shape, tried, usable_gib);
        });
        const double told = std::floor(tokens / kStep) * kStep;
        if (told >= kStep) ways.push_back("with " + decimal_text(told, 0) + " tokens");
    }
    tried = load;
    const double batch = largest(load.batch - 1, [&](double count) {
        tried.batch = count;
        return fits(shape, tried, usable_gib);
    });
    if (batch >= 1) ways.push_back("at batch " + decimal_text(batch, 0));
    tried = load;
    for (const Task task : {Task::kTrainLora, Task::kTrainQlora}) {
        if (load.task == Task::kInference || load.task == Task::kTrainQlora || load.task == task)
            continue;
        tried.task = task;
        if (!fits(shape, tried, usable_gib)) continue;
        ways.emplace_back(task == Task::kTrainLora ? "with LoRA" : "with QLoRA");
        break;
    }
    std::string text;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == ways.size() ? " or " : ", ") + ways[i];
    }
    return text;
}

}  // namespace

std::string format_problem(const catalog::GpuModel& model, const Load& load) {
    if (model.architecture == "not known") return {};  // of a card by its memory alone
    const catalog::Version for_bf16{{8, 0}};
    const catalog::Version for_fp8_weights{{7, 5}};
    const std::string compute =
        std::to_string(model.compute.major()) + '.' + std::to_string(model.compute.minor());
    if (load.dtype == Dtype::kBf16 && model.compute < for_bf16) {
        return "bf16 needs compute capability 8.0, it has " + compute + " (fp16 would do)";
    }
    if (load.dtype == Dtype::kFp8 && model.compute < for_fp8_weights) {
        return "fp8 needs compute capability 7.5, it has " + compute;
    }
    return {};
}

bool computes_in(const catalog::GpuModel& model, const Load& load) {
    const catalog::Version for_fp8{{8, 9}};
    return load.dtype != Dtype::kFp8 || model.architecture == "not known" ||
           model.compute >= for_fp8;
}

bool is_smaller(const ModelShape& shape, Dtype dtype, Dtype than) {
    constexpr double kWorthIt = 0.8;
    const double now = weight_bytes(shape, than);
    return weight_bytes(shape, dtype) <= (than == Dtype::kShipped ? kWorthIt * now : now);
}

Dtype usual_dtype_on(const ModelShape& shape, const catalog::GpuModel& model, Task task) {
    Load load;
    load.dtype = task == Task::kInference ? usual_dtype(shape) : Dtype::kBf16;
    const bool too_new = load.dtype == Dtype::kBf16 && !format_problem(model, load).empty();
    return too_new ? Dtype::kFp16 : load.dtype;
}

bool trains_by_shape(const ModelShape& shape) {
    return shape.layers > 0 && (shape.kind == "decoder" || shape.kind == "encoder");
}

bool divides_heads(const ModelShape& shape, const Load& load) {
    if (load.gpus == 1 || load.task != Task::kInference) return true;
    if (shape.working_mib > 0)
        return false;  // small models and pipelines of several are not parted
    if (shape.heads == 0) return true;
    return shape.heads % load.gpus == 0 || (shape.kv_heads > 0 && shape.kv_heads % load.gpus == 0);
}

Result<CardFit> fit_card(const ModelShape& shape, const Load& asked, const catalog::GpuModel& model,
                         double memory_gib, unsigned most) {
    CardFit fit;
    fit.gpu_gib = memory_gib;
    fit.usable_gib = usable_by_a_model(memory_gib);
    Load load = asked;
    for (const unsigned count : kParallelCounts) {
        if (count > std::max(1U, most)) break;
        load.gpus = count;
        if (!divides_heads(shape, load)) continue;
        const auto need = estimate_memory(shape, load);
        if (!need) return need.error();
        if (count == 1) fit.alone_gib = need->per_gpu_gib;
        fit.count = count;
        fit.per_gpu_gib = need->per_gpu_gib;
        if (load.context == 0) load.context = need->context;
        if (need->per_gpu_gib <= fit.usable_gib) break;
    }
    if (fit.count > 1) {
        load.gpus = 1;
        fit.alone_smaller = smaller_format(shape, load, model, fit.usable_gib);
        fit.alone_less = smaller_load(shape, load, fit.usable_gib);
    }
    load.gpus = fit.count;
    fit.problem = format_problem(model, load);
    if (!fit.problem.empty() || fit.per_gpu_gib > fit.usable_gib) {
        fit.smaller = smaller_format(shape, load, model, fit.usable_gib);
    }
    if (fit.problem.empty() && fit.per_gpu_gib > fit.usable_gib) {
        fit.less = smaller_load(shape, load, fit.usable_gib);
        fit.problem = gib_text(fit.per_gpu_gib) + " needed" +
                      (fit.count > 1 ? " on each of " + std::to_string(fit.count) : "") + ", " +
                      gib_text(fit.usable_gib) + " usable of " + gib_text(fit.gpu_gib);
    }
    if (fit.problem.empty() && load.task != Task::kInference && !trains_by_shape(shape)) {
        fit.not_known = true;
        fit.problem =
            "activations are most of what it takes and are not in the sum; `aliquot size "
            "batch` suggests a first batch";
    }
    fit.fits = fit.problem.empty();
    if (!fit.fits || load.task != Task::kInference) return fit;
    Load tried = load;
    fit.most_batch = largest(kLargestTried, [&](double batch) {
        tried.batch = batch;
        return fits(shape, tried, fit.usable_gib);
    });
    if (!shape.has_cache()) return fit;
    tried = load;
    const double longest = shape.context > 0 ? shape.context : kLongestTried;
    fit.most_context = largest(std::min(longest, kLongestTried), [&](double tokens) {
        tried.context = tokens;
        return fits(shape, tried, fit.usable_gib);
    });
    return fit;
}

}  // namespace aliquot::sizing
