// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number.h"
#include "doctor/check.h"

namespace aliquot::doctor {
namespace {

constexpr double kThrottledPercent = 5;

Verdict not_asked(const Facts& facts) {
    return facts.nvml.state == NvmlFacts::State::kUnknown ? unknown(facts.nvml.reason)
                                                          : not_here("NVML gave no answer");
}

bool told_of_gpus(const Facts& facts) {
    return facts.nvml.state == NvmlFacts::State::kOk && !facts.nvml.gpus.empty();
}

std::string short_name(const NvmlGpu& gpu) { return "GPU " + std::to_string(gpu.index); }

Evidence seen(const NvmlGpu& gpu, std::string value, std::string expected = {}) {
    return {.path = gpu.place.path,
            .line = gpu.place.line,
            .value = std::move(value),
            .expected = std::move(expected)};
}

Verdict judge_hardware_slowdown(const Facts& facts) {
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        const bool busy = gpu.utilization.value_or(0) >= 90;
        const bool low = gpu.sm_clock_mhz && gpu.sm_clock_most_mhz &&
                         *gpu.sm_clock_mhz * 2 < *gpu.sm_clock_most_mhz;
        const bool idle_state = gpu.performance_state == "P8";
        if (!busy || !(low || idle_state)) continue;
        auto verdict = warning(
            short_name(gpu) + " is busy but its clocks are locked low" +
            (gpu.sm_clock_mhz ? " (" + std::to_string(*gpu.sm_clock_mhz) + " MHz)" : "") + ".");
        verdict.because(seen(
            gpu, gpu.performance_state + " at " + std::to_string(*gpu.utilization) + " %", "P0"));
        verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -rgc");
        return verdict;
    }
    return ok("clocks rise when there is work");
}

/// GPU -> pods with a process on it.
std::map<std::string, std::vector<const NvmlProcess*>> users(const Facts& facts) {
    std::map<std::string, std::vector<const NvmlProcess*>> by_gpu;
    for (const NvmlProcess& one : facts.nvml.processes) {
        auto& list = by_gpu[one.gpu];
        const bool again =
            !one.pod.empty() && std::ranges::any_of(list, [&](const NvmlProcess* other) {
                return other->pod == one.pod;
            });
        if (!again) list.push_back(&one);
    }
    return by_gpu;
}

Verdict judge_contention(const Facts& facts) {
    if (!told_of_gpus(facts)) return not_asked(facts);
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.memory_used_mib || !gpu.memory_total_mib || *gpu.memory_total_mib == 0) continue;
        const double part = 100.0 * *gpu.memory_used_mib / *gpu.memory_total_mib;
        std::size_t neighbours = 0;
        auto verdict = warning("");
        for (const NvmlProcess& one : facts.nvml.processes) {
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.link_width || !gpu.link_width_most || *gpu.link_width >= *gpu.link_width_most)
            continue;
        auto verdict =
            warning(short_name(gpu) + " copies over PCIe x" + std::to_string(*gpu.link_width) +
                    " of x" + std::to_string(*gpu.link_width_most) + ".");
        verdict.because(seen(gpu, "x" + std::to_string(*gpu.link_width),
                             "x" + std::to_string(*gpu.link_width_most)));
        verdict.note("See HW005: seat, slot, riser, bifurcation.");
        return verdict;
    }
    return ok("PCIe links have their width");
}

Verdict judge_nvlink(const Facts& facts) {
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
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
    if (!told_of_gpus(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
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
