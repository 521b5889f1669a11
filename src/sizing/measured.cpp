// SPDX-License-Identifier: Apache-2.0
#include "sizing/measured.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/units.h"
#include "catalog/gpu_instances.h"
#include "document/yaml.h"
#include "sizing/instance.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

using document::Value;

constexpr double kHoursPerMonth = 730;
constexpr double kMargin = 1.25;
constexpr double kHalf = 0.5;
constexpr std::size_t kMostRuns = 10'000;
constexpr std::array<std::string_view, 8> kKeys{
    "workload",        "instance", "gpu_memory_peak_gib", "gpu_busy_percent", "cpu_peak",
    "memory_peak_gib", "gpus",     "out_of_memory"};

Error at(std::string_view file, const Value& node, const std::string& what) {
    return {ErrorCode::kInvalidInput, std::string(file) + ':' + std::to_string(node.mark.line) +
                                          ':' + std::to_string(node.mark.column) + ": " + what};
}

Result<Run> read_run(std::string_view file, const Value& node) {
    if (!node.is_mapping()) {
        return at(file, node, describe(node) + " found, a run with workload and instance expected");
    }
    Run run;
    for (const auto& [key, value] : node.entries) {
        const auto* const known = std::ranges::find(kKeys, std::string_view(key.scalar));
        if (known == kKeys.end()) {
            const auto near = nearest_word(key.scalar, kKeys);
            return at(file, key, "'" + key.scalar + "' is not a key of a run" + did_you_mean(near));
        }
        const auto index = known - kKeys.begin();
        if (index <= 1) {
            if (!value.is_string())
                return at(
                    file, value,
                    "'" + key.scalar + "': a text is expected, " + describe(value) + " found");
            (index == 0 ? run.workload : run.instance) = value.scalar;
            continue;
        }
        if (key.scalar == "out_of_memory") {
            if (value.kind != Value::Kind::kBool) {
                return at(
                    file, value,
                    "'out_of_memory': true or false is expected, " + describe(value) + " found");
            }
            run.out_of_memory = value.scalar == "true";
            continue;
        }
        const auto number = number_of(&value);
        constexpr double kMost = 1e6;
        if (!number || *number > kMost) {
            return at(file, value,
                      "'" + key.scalar + "': a number of 0 to 1000000 is expected, " +
                          describe(value) + " found");
        }
        if (key.scalar == "gpu_memory_peak_gib") run.gpu_memory_peak_gib = *number;
        if (key.scalar == "gpu_busy_percent") run.gpu_busy_percent = *number;
        if (key.scalar == "cpu_peak") run.cpu_peak = *number;
        if (key.scalar == "memory_peak_gib") run.memory_peak_gib = *number;
        if (key.scalar == "gpus") run.gpus = static_cast<unsigned>(std::max(1.0, *number));
    }
    if (run.workload.empty() || run.instance.empty()) {
        return at(file, node, "a run needs 'workload' and 'instance'");
    }
    return run;
}

/// The highest of each number over the runs of one workload.
Run peaks_of(const std::vector<Run>& runs, std::string_view workload) {
    Run peak;
    for (const Run& run : runs) {
        if (run.workload != workload) continue;
        peak.workload = run.workload;
        peak.instance = run.instance;  // the last one: where it runs now
        peak.gpus = run.gpus;
        peak.gpu_memory_peak_gib = std::max(peak.gpu_memory_peak_gib, run.gpu_memory_peak_gib);
        peak.gpu_busy_percent = std::max(peak.gpu_busy_percent, run.gpu_busy_percent);
        peak.cpu_peak = std::max(peak.cpu_peak, run.cpu_peak);
        peak.memory_peak_gib = std::max(peak.memory_peak_gib, run.memory_peak_gib);
        peak.out_of_memory = peak.out_of_memory || run.out_of_memory;
    }
    return peak;
}

void note(RightSize& size, const std::string& name, double used, double has,
          const std::string& unit) {
    if (used == 0 || has == 0) return;
    size.reasons.push_back(name + ": peak " + decimal_text(used) + unit + " of " +
                           decimal_text(has) + unit + " (" +
                           decimal_text(kPercent * used / has, 0) + " %)");
}

bool below_half(const Run& peak, const catalog::GpuInstance& now) {
    const Allocatable has = allocatable_of(now);
    const bool gpu = peak.gpu_memory_peak_gib > 0 &&
                     peak.gpu_memory_peak_gib < kHalf * now.gpu_memory_mib / kMibPerGib;
    return gpu && peak.gpu_busy_percent < kHalf * kPercent && peak.cpu_peak < kHalf * has.cpu &&
           peak.memory_peak_gib < kHalf * has.memory_mib / kMibPerGib;
}

/// The cheapest machine of the same cloud that holds the peaks with a margin; null: none.
const catalog::GpuInstance* cheapest_for(const Run& peak, const catalog::GpuInstance& now,
                                         double least_gpu_gib, double least_memory_gib) {
    PodNeed need;
    need.cpu = peak.cpu_peak * kMargin;
    need.memory_mib = std::max(peak.memory_peak_gib * kMargin, least_memory_gib) * kMibPerGib;
    need.gpus = peak.gpus;
    need.gpu_memory_mib = std::max(peak.gpu_memory_peak_gib * kMargin, least_gpu_gib) * kMibPerGib;
    const auto choice = choose_instance(need, DaemonSets{}, now.cloud, "");
    if (!choice || choice->fitting.empty()) return nullptr;
    return choice->fitting.front().instance;
}

void decide(RightSize& size, const Run& peak, const catalog::GpuInstance& now,
            unsigned least_runs) {
    const Allocatable has = allocatable_of(now);
    const double gpu_gib = now.gpu_memory_mib / kMibPerGib;
    note(size, "GPU memory", peak.gpu_memory_peak_gib, gpu_gib, " GiB");
    note(size, "GPU time", peak.gpu_busy_percent, kPercent, " %");
    note(size, "CPU", peak.cpu_peak, has.cpu, " cores");
    note(size, "memory", peak.memory_peak_gib, has.memory_mib / kMibPerGib, " GiB");
    const catalog::GpuInstance* to = nullptr;
    if (peak.out_of_memory) {
        size.direction = Direction::kUp;
        size.reasons.push_back("a run ended out of memory: more GPU memory than " +
                               gib_text(gpu_gib) + " is needed");
        to = cheapest_for(peak, now, gpu_gib + 1, 0);
    } else if (size.runs < least_runs) {
        size.direction = Direction::kTooFew;
        size.reasons.push_back(std::to_string(size.runs) + " runs, " + std::to_string(least_runs) +
                               " are needed to go down");
        return;
    } else if (below_half(peak, now)) {
        size.direction = Direction::kDown;
        size.reasons.push_back("every peak is below half: take the peaks and a quarter on top");
        to = cheapest_for(peak, now, 0, 0);
    }
    if (to != nullptr && to != &now &&
        (size.direction == Direction::kUp || to->usd_per_hour < now.usd_per_hour)) {
        size.to = to->type;
        size.usd_per_month_saved = (now.usd_per_hour - to->usd_per_hour) * kHoursPerMonth;
        return;
    }
    if (size.direction == Direction::kDown) {
        size.direction = Direction::kStay;
        size.reasons.push_back("no cheaper machine of " + std::string(now.cloud) + " holds them");
    }
}

}  // namespace

std::string_view to_text(Direction direction) {
    constexpr std::array<std::string_view, 4> kWords{"stay", "down", "up", "too few runs"};
    return kWords[static_cast<std::size_t>(direction)];
}

Result<std::vector<Run>> read_runs(std::string_view file, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        Value place;
        place.mark = stream.errors.front().mark;
        return at(file, place, stream.errors.front().message);
    }
    const Value* list = stream.documents.empty() ? nullptr : &stream.documents.front();
    if (list != nullptr && list->is_mapping()) list = list->find("runs");
    if (list == nullptr || !list->is_sequence()) {
        return Error{
            ErrorCode::kInvalidInput,
            std::string(file) + ": a list of runs is expected, at the top or under 'runs'"};
    }
    if (list->items.size() > kMostRuns) return at(file, *list, "more than 10000 runs");
    std::vector<Run> runs;
    for (const Value& item : list->items) {
        auto run = read_run(file, item);
        if (!run) return std::move(run).error();
        runs.push_back(*std::move(run));
    }
    return runs;
}

Result<std::vector<RightSize>> right_size(const std::vector<Run>& runs, unsigned least_runs) {
    std::vector<std::string_view> workloads;
    for (const Run& run : runs) {
        if (std::ranges::find(workloads, std::string_view(run.workload)) == workloads.end()) {
            workloads.push_back(run.workload);
        }
    }
    std::vector<RightSize> sizes;
    for (const std::string_view workload : workloads) {
        const Run peak = peaks_of(runs, workload);
        const catalog::GpuInstance* const now = catalog::find_gpu_instance(peak.instance);
        if (now == nullptr) {
            const auto near = catalog::nearest_gpu_instance(peak.instance);
            return Error{ErrorCode::kNotFound, peak.workload + ": machine type '" + peak.instance +
                                                   "' is not in the table" + did_you_mean(near)};
        }
        RightSize size;
        size.workload = peak.workload;
        size.instance = peak.instance;
        size.runs = static_cast<unsigned>(std::ranges::count(runs, workload, &Run::workload));
        decide(size, peak, *now, least_runs);
        sizes.push_back(std::move(size));
    }
    return sizes;
}

}  // namespace aliquot::sizing
