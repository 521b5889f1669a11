// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number.h"
#include "doctor/measured.h"

namespace aliquot::doctor {
namespace {

constexpr double kThrottledPercent = 5;

std::string short_name(const NvmlGpu& gpu) { return "GPU " + std::to_string(gpu.index); }

Verdict judge_hardware_slowdown(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        std::string reason;
        double part = 0;
        for (const auto& [name, percent] : gpu.throttled_percent) {
            if (name.starts_with("hw") && percent > std::max(part, kThrottledPercent)) {
                part = percent;
                reason = name;
            }
        }
        const std::uint64_t bits = gpu.throttle_bits.value_or(0);
        if (reason.empty() && (bits & 0x40U) != 0) reason = "hw_thermal";
        if (reason.empty() && (bits & 0x80U) != 0) reason = "hw_power_brake";
        if (reason.empty() && (bits & 0x8U) != 0) reason = "hw_slowdown";
        if (reason.empty()) continue;
        auto verdict =
            warning(short_name(gpu) + " is throttled" +
                    (part > 0 ? " " + fixed_text(part, 0) + " % of the time" : "") + ": " + reason +
                    (gpu.temperature ? " (" + std::to_string(*gpu.temperature) + " C)" : "") + ".");
        verdict.because(seen(gpu, reason, "below 5 % of the time"));
        verdict.note(reason.contains("brake")
                         ? "The power supply pulls the brake: too weak, or a cable."
                         : "Look at the airflow: fans, dust, the room, neighbours.");
        return verdict;
    }
    return ok("no GPU is slowed down by its hardware");
}

Verdict judge_power_cap(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        if (!gpu.power_limit_w || !gpu.power_default_w ||
            *gpu.power_limit_w >= *gpu.power_default_w)
            continue;
        auto verdict = warning("The power limit of " + short_name(gpu) + " is set to " +
                               fixed_text(*gpu.power_limit_w, 0) + " W of " +
                               fixed_text(*gpu.power_default_w, 0) + " W.");
        verdict.because(seen(gpu, fixed_text(*gpu.power_limit_w, 0) + " W",
                             fixed_text(*gpu.power_default_w, 0) + " W"));
        verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -pl " +
                    fixed_text(*gpu.power_default_w, 0));
        return verdict;
    }
    return ok("power limits are at their defaults");
}

Verdict judge_clocks(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        const bool busy = gpu.utilization.value_or(0) >= 90;
        const bool low = gpu.sm_clock_mhz && gpu.sm_clock_most_mhz &&
                         *gpu.sm_clock_mhz * 2 < *gpu.sm_clock_most_mhz;
        const bool idle_state = gpu.performance_state == "P8";
        // Applications clocks that somebody has set.
        const bool set = (gpu.throttle_bits.value_or(0) & 0x2U) != 0 && gpu.sm_clock_mhz &&
                         gpu.sm_clock_most_mhz &&
                         *gpu.sm_clock_mhz * 5 < *gpu.sm_clock_most_mhz * 4;
        if (!busy || !(low || idle_state || set)) continue;
        auto verdict =
            warning(short_name(gpu) + " is busy but its clocks are locked low" +
                    (gpu.sm_clock_mhz ? " (" + std::to_string(*gpu.sm_clock_mhz) + " MHz" +
                                            (gpu.sm_clock_most_mhz
                                                 ? " of " + std::to_string(*gpu.sm_clock_most_mhz)
                                                 : "") +
                                            ")"
                                      : "") +
                    ".");
        verdict.because(seen(
            gpu, gpu.performance_state + " at " + std::to_string(*gpu.utilization) + " %", "P0"));
        verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -rgc");
        if (set) verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -rac");
        return verdict;
    }
    return ok("clocks rise when there is work");
}

/// GPU -> pods with a process on it.
std::map<std::string, std::vector<const NvmlProcess*>> users(const Facts& facts) {
    std::map<std::string, std::vector<const NvmlProcess*>> by_gpu;
    for (const NvmlProcess& one : facts.telemetry.measured.processes) {
        auto& list = by_gpu[one.gpu];
        const bool again =
            !one.pod.empty() && std::ranges::any_of(list, [&](const NvmlProcess* other) {
                return other->pod == one.pod;
            });
        if (!again) list.push_back(&one);
    }
    return by_gpu;
}

/// What a pod that is asked about has to share its part of a GPU with.
Verdict judge_neighbours(const Facts& facts) {
    constexpr double kBusy = 0.80;
    constexpr double kActive = 0.05;
    const auto shares = asked_shares(facts);
    for (const ShareUse* const share : shares) {
        std::vector<const ShareUse*> active;
        double sum = share->used.value_or(0);
        for (const ShareUse& other : facts.telemetry.shares) {
            if (&other == share || other.gpu != share->gpu || other.part != share->part) continue;
            sum += other.used.value_or(0);
            if (other.used.value_or(0) >= kActive) active.push_back(&other);
        }
        if (active.empty() || sum < kBusy || share->used.value_or(0) < kActive / 5) continue;
        std::ranges::sort(active, std::ranges::greater(),
                          [](const ShareUse* one) { return one->used.value_or(0); });
        auto verdict = warning(name_of(*share) + " has " + percent_text(share->used.value_or(0)) +
                               " of " + share->part + "; " + std::to_string(active.size()) +
                               (active.size() == 1 ? " neighbour has " : " neighbours have ") +
                               percent_text(sum - share->used.value_or(0)) + ", most of it " +
                               name_of(*active.front()) + " with " +
                               percent_text(*active.front()->used) + ".");
        verdict.because(share->place);
        for (const ShareUse* const other : active) {
            verdict.because(Location{other->place.path, 0,
                                     name_of(*other) + ": " + percent_text(*other->used)});
        }
        verdict.note("Fewer shares of this GPU, or MPS or MIG, where work overlaps all the time.");
        return verdict;
    }
    return ok("no neighbour takes the time of the GPU");
}

Verdict judge_contention(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    if (facts.telemetry.known) return judge_neighbours(facts);
    for (const auto& [gpu, list] : users(facts)) {
        std::size_t active = 0;
        for (const NvmlProcess* const one : list)
            active += one->utilization.value_or(0) > 0 ? 1 : 0;
        if (active < 2) continue;
        auto verdict = warning(std::to_string(active) + " pods are active on GPU " + gpu +
                               " at once: expect at most " + std::to_string(100 / active) +
                               " % each, less the switching.");
        for (const NvmlProcess* const one : list) {
            verdict.because(Location{one->place.path, one->place.line,
                                     (one->pod.empty() ? one->name : one->pod) + ": " +
                                         std::to_string(one->utilization.value_or(0)) + " %"});
        }
        verdict.note("Fewer shares of this GPU, or MPS or MIG, where work overlaps all the time.");
        return verdict;
    }
    return ok("no GPU has several busy users");
}

Verdict judge_memory_sum(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        if (!gpu.memory_used_mib || !gpu.memory_total_mib || *gpu.memory_total_mib == 0) continue;
        const double part = 100.0 * *gpu.memory_used_mib / *gpu.memory_total_mib;
        std::size_t neighbours = 0;
        auto verdict = warning("");
        for (const NvmlProcess& one : facts.telemetry.measured.processes) {
            if (one.gpu != gpu.uuid && one.gpu != std::to_string(gpu.index)) continue;
            ++neighbours;
            verdict.because(Location{one.place.path, one.place.line,
                                     (one.pod.empty() ? one.name : one.pod) + ": " +
                                         std::to_string(one.memory_mib) + " MiB"});
        }
        if (part < 90 || neighbours < 2) continue;
        verdict.message = "The neighbours on " + short_name(gpu) + " use " + fixed_text(part, 0) +
                          " % of its memory: the next allocation may fail.";
        verdict.note("Fewer shares, smaller batches, or a memory limit per share.");
        return verdict;
    }
    return ok("shared GPUs have memory to spare");
}

Verdict judge_hollow(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        if (gpu.utilization.value_or(0) < 95 || !gpu.sm_active || *gpu.sm_active >= 0.3) continue;
        auto verdict = warning(
            short_name(gpu) + " shows 100 % but only " + fixed_text(*gpu.sm_active * 100, 0) +
            " % of its multiprocessors work: utilisation only says that some kernel ran.");
        verdict.because(seen(gpu,
                             "utilization " + std::to_string(*gpu.utilization) + " %, SM active " +
                                 fixed_text(*gpu.sm_active * 100, 0) + " %",
                             "both high"));
        verdict.note("Larger batches, or share the GPU: there is room for others.");
        return verdict;
    }
    return ok("busy GPUs are really busy");
}

Verdict judge_link(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        const bool narrow =
            gpu.link_width && gpu.link_width_most && *gpu.link_width < *gpu.link_width_most;
        // An idle link is let down to save power.
        const bool slow = gpu.link_generation && gpu.link_generation_most &&
                          *gpu.link_generation < *gpu.link_generation_most &&
                          gpu.utilization.value_or(0) >= 50;
        if (!narrow && !slow) continue;
        const std::string has = narrow ? "x" + std::to_string(*gpu.link_width)
                                       : "generation " + std::to_string(*gpu.link_generation);
        const std::string could = narrow ? "x" + std::to_string(*gpu.link_width_most)
                                         : std::to_string(*gpu.link_generation_most);
        auto verdict = warning(short_name(gpu) + " copies over PCIe " + has + " of " + could + ".");
        verdict.because(seen(gpu, has, could));
        verdict.note("See HW005: seat, slot, riser, bifurcation.");
        return verdict;
    }
    return ok("PCIe links have their width");
}

Verdict judge_nvlink(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        const unsigned inactive = gpu.nvlinks_inactive.value_or(0);
        const std::uint64_t errors = gpu.nvlink_errors.value_or(0);
        if (inactive == 0 && errors == 0) continue;
        auto verdict = warning(short_name(gpu) + ": " +
                               (inactive > 0 ? std::to_string(inactive) + " NVLinks are inactive"
                                             : std::to_string(errors) + " NVLink errors") +
                               ".");
        verdict.because(seen(gpu,
                             inactive > 0 ? std::to_string(inactive) + " inactive"
                                          : std::to_string(errors) + " errors",
                             "0"));
        verdict.fix("nvidia-smi nvlink -s -i " + std::to_string(gpu.index));
        return verdict;
    }
    return ok("NVLinks are up");
}

Verdict judge_repaired(const Facts& facts) {
    constexpr std::uint64_t kManyErrors = 1000;
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const one_gpu : asked_gpus(facts)) {
        const NvmlGpu& gpu = *one_gpu;
        if (gpu.ecc_corrected.value_or(0) < kManyErrors) continue;
        auto verdict =
            warning(short_name(gpu) + " corrected " + std::to_string(*gpu.ecc_corrected) +
                    " memory errors since the driver was loaded: each costs time.");
        verdict.because(seen(gpu, std::to_string(*gpu.ecc_corrected), "near 0"));
        verdict.note(
            "Watch it; when the number grows, reset the GPU so that rows are remapped, and plan "
            "its replacement.");
        return verdict;
    }
    return ok("memory repair slows nothing down");
}

constexpr Check kPerformanceChecks[] = {
    {"PERF001", Level::kRun, false, "", judge_hardware_slowdown},
    {"PERF002", Level::kRun, false, "", judge_power_cap},
    {"PERF003", Level::kRun, false, "PERF002", judge_clocks},
    {"PERF007", Level::kRun, false, "", judge_contention},
    {"PERF008", Level::kRun, false, "", judge_memory_sum},
    {"PERF009", Level::kRun, false, "", judge_hollow},
    {"PERF010", Level::kRun, false, "", judge_link},
    {"PERF011", Level::kRun, false, "", judge_nvlink},
    {"PERF012", Level::kRun, false, "", judge_repaired},
};

}  // namespace

std::span<const Check> performance_checks() { return kPerformanceChecks; }

}  // namespace aliquot::doctor
