// SPDX-License-Identifier: Apache-2.0
#include "sizing/choice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/units.h"
#include "sizing/card.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

double gpu_gib(const catalog::GpuInstance& instance) {
    const catalog::GpuModel& model = *instance.model;
    return (model.memory_mib > 0 ? model.memory_mib : instance.gpu_memory_mib) / kMibPerGib;
}

struct Trial {
    std::optional<GpuOption> option;
    std::string reason;  // why not
};

Trial try_instance(const catalog::GpuInstance& instance, const ModelShape& shape, const Load& load,
                   const Need& need, const HostNeed& host) {
    const catalog::GpuModel& model = *instance.model;
    std::string reason = format_problem(model, load);
    if (!reason.empty()) return {std::nullopt, reason};
    GpuOption option;
    option.model = &model;
    option.count = load.gpus;
    option.per_gpu_gib = need.per_gpu_gib;
    option.gpu_gib = gpu_gib(instance);
    option.usable_gib = usable_by_a_model(option.gpu_gib);
    if (need.per_gpu_gib > option.usable_gib) {
        return {std::nullopt, gib_text(need.per_gpu_gib) + " needed on each GPU, " +
                                  gib_text(option.usable_gib) + " usable of " +
                                  gib_text(option.gpu_gib)};
    }
    PodNeed pod;
    pod.cpu = host.cpu_per_gpu * load.gpus;
    constexpr double kProgram = 4 * kMibPerGib;
    pod.memory_mib = host.memory_mib > 0
                         ? host.memory_mib
                         : weight_bytes(shape, load.dtype) / (kMibPerGib * kMibPerGib) + kProgram;
    pod.gpus = load.gpus;
    const auto reasons = shortfalls(instance, pod, DaemonSets{});
    if (!reasons.empty()) {
        const Shortfall& first = reasons.front();
        return {std::nullopt, first.resource + ": " + first.needed + " needed, " + first.available};
    }
    option.instance = &instance;
    option.usd_per_hour = instance.usd_per_hour;
    option.shared = load.gpus == 1 && need.per_gpu_gib < option.gpu_gib / 2;
    return {option, {}};
}

struct Search {
    std::vector<GpuOption> options;
    std::vector<std::string> rejected;
};

void note_rejected(Search& search, const catalog::GpuInstance& instance, unsigned count,
                   const std::string& reason) {
    const std::string line =
        std::string(instance.model->key) + " x " + std::to_string(count) + ": " + reason;
    if (std::ranges::find(search.rejected, line) == search.rejected.end()) {
        search.rejected.push_back(line);
    }
}

Result<Search> search_all(const ModelShape& shape, Load load, const HostNeed& host) {
    Search search;
    for (const unsigned count : kParallelCounts) {
        if (host.gpus != 0 && host.gpus != count) continue;
        load.gpus = count;
        if (!divides_heads(shape, load)) {
            if (shape.working_mib > 0) continue;
            search.rejected.push_back(std::to_string(count) + " GPUs: do not divide " +
                                      std::to_string(shape.heads) + " heads");
            continue;
        }
        const auto need = estimate_memory(shape, load);
        if (!need) return need.error();
        for (const catalog::GpuInstance& instance : catalog::gpu_instances()) {
            if (instance.gpu_count < count) continue;
            if (!host.cloud.empty() && !same_letters(instance.cloud, host.cloud)) continue;
            if (!host.gpu.empty() && !has_gpu(instance, host.gpu)) continue;
            const Trial trial = try_instance(instance, shape, load, *need, host);
            if (trial.option) {
                search.options.push_back(*trial.option);
            } else {
                note_rejected(search, instance, count, trial.reason);
            }
        }
    }
    std::ranges::stable_sort(search.options, {}, [](const GpuOption& one) {
        return std::tuple(one.usd_per_hour, one.count);
    });
    return search;
}

double cheapest(const Search& search) {
    return search.options.empty() ? 0 : search.options.front().usd_per_hour;
}

/// The smallest change that brings the price down: a shorter context, a smaller batch, fewer bits.
Result<std::string> what_would_be_cheaper(const ModelShape& shape, const Load& load,
                                          const HostNeed& host, double price) {
    struct Change {
        std::string words;
        Load load;
    };
    std::vector<Change> changes;
    const auto need = estimate_memory(shape, load);
    if (!need) return need.error();
    constexpr unsigned kTimes = 3;
    Load changed = load;
    changed.context = need->context;
    for (unsigned i = 0; i < kTimes && changed.context > 1024; ++i) {
        changed.context /= 2;
        changes.push_back({"a context of " + decimal_text(changed.context) + " tokens", changed});
    }
    changed = load;
    for (unsigned i = 0; i < kTimes && changed.batch >= 2; ++i) {
        changed.batch = static_cast<double>(static_cast<long>(changed.batch / 2));
        changes.push_back({"a batch of " + decimal_text(changed.batch), changed});
    }
    changed = load;
    if (load.task == Task::kTrainFull) {
        changed.task = Task::kTrainLora;
        changes.push_back({"LoRA in place of full training", changed});
    }
    if (load.task == Task::kTrainFull || load.task == Task::kTrainLora) {
        changed.task = Task::kTrainQlora;
        changes.push_back({"QLoRA (4-bit base)", changed});
    }
    if (load.task == Task::kInference) {
        for (const Dtype dtype : {Dtype::kFp16, Dtype::kInt8, Dtype::kInt4}) {
            if (dtype == load.dtype || !is_smaller(shape, dtype, load.dtype)) continue;
            changed.dtype = dtype;
            changes.push_back({"weights in " + std::string(to_text(dtype)), changed});
        }
    }
    for (const Change& change : changes) {
        const auto search = search_all(shape, change.load, host);
        if (!search || search->options.empty()) continue;
        const GpuOption& best = search->options.front();
        if (price > 0 && best.usd_per_hour >= price) continue;
        return "with " + change.words + ": " + std::to_string(best.count) + " x " +
               std::string(best.model->key) + " (" + std::string(best.instance->type) + ", $" +
               money_text(best.usd_per_hour) + "/h)";
    }
    return std::string();
}

}  // namespace

Result<GpuChoice> choose_gpus(const ModelShape& shape, const Load& load, const HostNeed& host) {
    if (!host.gpu.empty() && catalog::find_gpu_model(host.gpu) == nullptr) {
        const auto near = catalog::nearest_gpu_model(host.gpu);
        return Error{ErrorCode::kNotFound,
                     "GPU '" + host.gpu + "' is not known" + did_you_mean(near)};
    }
    auto search = search_all(shape, load, host);
    if (!search) return std::move(search).error();
    GpuChoice choice;
    constexpr std::size_t kMost = 3;
    for (const GpuOption& option : search->options) {
        const bool known = std::ranges::any_of(choice.best, [&option](const GpuOption& one) {
            return one.instance == option.instance ||
                   (one.model == option.model && one.count == option.count);
        });
        if (!known && choice.best.size() < kMost) choice.best.push_back(option);
    }
    auto cheaper = what_would_be_cheaper(shape, load, host, cheapest(*search));
    if (!cheaper) return std::move(cheaper).error();
    choice.cheaper = *std::move(cheaper);
    choice.rejected = std::move(search->rejected);
    return choice;
}

}  // namespace aliquot::sizing
