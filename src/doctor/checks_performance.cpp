// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "doctor/check.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

constexpr double kThrottledPercent = 5;
constexpr std::int64_t kIdleSeconds = 600;

Verdict not_asked(const Facts& facts) {
    return facts.nvml.state == NvmlFacts::State::kUnknown ? unknown(facts.nvml.reason)
                                                          : not_here("NVML gave no answer");
}

bool answered(const Facts& facts) {
    return facts.nvml.state == NvmlFacts::State::kOk && !facts.nvml.gpus.empty();
}

std::string name_of(const NvmlGpu& gpu) { return "GPU " + std::to_string(gpu.index); }

Evidence seen(const NvmlGpu& gpu, std::string value, std::string expected = {}) {
    return {.path = gpu.place.path,
            .line = gpu.place.line,
            .value = std::move(value),
            .expected = std::move(expected)};
}

std::string digits(double value) {
    const long rounded = std::lround(value);
    return std::to_string(rounded);
}

Verdict judge_hardware_slowdown(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
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
            warning(name_of(gpu) + " is throttled" +
                    (part > 0 ? " " + digits(part) + " % of the time" : "") + ": " + reason +
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
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.power_limit_w || !gpu.power_default_w ||
            *gpu.power_limit_w >= *gpu.power_default_w)
            continue;
        auto verdict =
            warning("The power limit of " + name_of(gpu) + " is set to " +
                    digits(*gpu.power_limit_w) + " W of " + digits(*gpu.power_default_w) + " W.");
        verdict.because(
            seen(gpu, digits(*gpu.power_limit_w) + " W", digits(*gpu.power_default_w) + " W"));
        verdict.mend("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -pl " +
                     digits(*gpu.power_default_w));
        return verdict;
    }
    return ok("power limits are at their defaults");
}

Verdict judge_clocks(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        const bool busy = gpu.utilization.value_or(0) >= 90;
        const bool low = gpu.sm_clock_mhz && gpu.sm_clock_most_mhz &&
                         *gpu.sm_clock_mhz * 2 < *gpu.sm_clock_most_mhz;
        const bool idle_state = gpu.performance_state == "P8";
        if (!busy || !(low || idle_state)) continue;
        auto verdict = warning(
            name_of(gpu) + " is busy but its clocks are locked low" +
            (gpu.sm_clock_mhz ? " (" + std::to_string(*gpu.sm_clock_mhz) + " MHz)" : "") + ".");
        verdict.because(seen(
            gpu, gpu.performance_state + " at " + std::to_string(*gpu.utilization) + " %", "P0"));
        verdict.mend("sudo nvidia-smi -i " + std::to_string(gpu.index) + " -rgc");
        return verdict;
    }
    return ok("clocks rise when there is work");
}

/// Words by which a program says that it computes on the CPU.
const Said* cpu_fallback(const Facts& facts, const std::string& pod) {
    for (const Said& said : facts.cluster.said) {
        if (said.pod != pod) continue;
        for (const char* const word :
             {"CPUExecutionProvider", "falling back to CPU", "Using device: cpu", "device: cpu",
              "running on CPU", "+cpu"}) {
            if (contains_folded(said.text, word)) return &said;
        }
    }
    return nullptr;
}

Verdict judge_idle(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        if (phase_of(pod) != "Running" || gpu_requests(pod).empty()) continue;
        const auto started = time_of(text_at(pod.body, {"status", "startTime"}));
        const std::int64_t age = started ? facts.now_s - *started : 0;
        const bool known = std::ranges::any_of(
            facts.nvml.processes, [&](const NvmlProcess& one) { return one.pod == pod.id(); });
        const Said* const fallback = cpu_fallback(facts, pod.id());
        // Without the pods of processes only a pod that says so itself is idle for sure.
        const bool attributed = std::ranges::any_of(
            facts.nvml.processes, [](const NvmlProcess& one) { return !one.pod.empty(); });
        if (known || age < kIdleSeconds || (fallback == nullptr && !attributed)) continue;
        auto verdict =
            warning("Pod " + pod.id() + " has held a GPU for " + std::to_string(age / 3600) +
                    " h " + std::to_string(age % 3600 / 60) + " min and never used it" +
                    (fallback != nullptr ? ": it computes on the CPU." : "."));
        verdict.because(Evidence{.path = pod.path,
                                 .value = pod.id() + ": no process on a GPU",
                                 .expected = "a process of the pod"});
        if (fallback != nullptr) {
            verdict.because(
                Evidence{.path = fallback->path, .line = fallback->line, .value = fallback->text});
        }
        verdict.note("Install the CUDA build of the framework, or take the GPU away from the pod.");
        verdict.as(Confidence::kLikely);
        return verdict;
    }
    return ok("no pod holds a GPU without using it");
}

/// "cpu.stat" of a pod's containers: agent/NODE/cpu/NS/POD.stat or cmd/cpu.stat-*.
double throttled_part(const Facts& facts, std::string& where) {
    for (const char* const pattern : {"cmd/cpu.stat*", "cmd/cpustat*", "agent/*/cpu.stat"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            double periods = 0;
            double throttled = 0;
            for_each_line(*text, [&](std::string_view line, unsigned) {
                const auto words = words_of(line);
                if (words.size() != 2) return;
                const auto value = static_cast<double>(number_of(words[1]).value_or(0));
                if (words[0] == "nr_periods") periods = value;
                if (words[0] == "nr_throttled") throttled = value;
            });
            if (periods > 0) {
                where = path;
                return 100 * throttled / periods;
            }
        }
    }
    return -1;
}

Verdict judge_cpu_bound(const Facts& facts) {
    std::string where;
    const double part = throttled_part(facts, where);
    if (part < 0) return unknown("no cpu.stat of a container was read");
    const bool waits = std::ranges::any_of(facts.nvml.gpus, [](const NvmlGpu& gpu) {
        return gpu.utilization && *gpu.utilization < 30;
    });
    if (part < 20 || !waits) return ok("the CPU limit does not hold the GPU up");
    auto verdict = warning("The GPU waits for the CPU: a container is CPU-throttled " +
                           digits(part) + " % of its periods.");
    verdict.because(
        Evidence{.path = where, .value = digits(part) + " % throttled", .expected = "near 0"});
    verdict.edit("resources.limits.cpu: higher, or none", "restart-pods");
    return verdict;
}

/// A series of utilisations: cmd/dmon.txt as nvidia-smi dmon prints it ("# gpu sm mem ...").
Verdict judge_saw_tooth(const Facts& facts) {
    for (const std::string& path : facts.tree.paths("cmd/*dmon*")) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        std::vector<double> values;
        std::size_t column = 1;
        for_each_line(*text, [&](std::string_view line, unsigned) {
            const auto words = words_of(line);
            if (words.empty()) return;
            if (words[0].starts_with('#')) {
                for (std::size_t i = 1; i < words.size(); ++i) {
                    if (words[i] == "sm") column = i - 1;
                }
                return;
            }
            if (words.size() > column) {
                if (const auto value = number_of(words[column]))
                    values.push_back(static_cast<double>(*value));
            }
        });
        if (values.size() < 10) continue;
        std::size_t turns = 0;
        for (std::size_t i = 1; i < values.size(); ++i) {
            const bool fell = values[i - 1] > 70 && values[i] < 20;
            const bool rose = values[i - 1] < 20 && values[i] > 70;
            if (fell || rose) ++turns;
        }
        if (turns * 4 < values.size()) return ok("utilisation is steady");
        auto verdict =
            warning("Utilisation goes up and down like a saw: the GPU waits for its data.");
        verdict.because(Evidence{.path = path,
                                 .value = std::to_string(turns) + " turns in " +
                                          std::to_string(values.size()) + " samples",
                                 .expected = "steady"});
        verdict.note("More loader workers, prefetching, a faster disk, or data in memory.");
        verdict.as(Confidence::kLikely);
        return verdict;
    }
    return unknown("no series of utilisations (cmd/dmon.txt) was read");
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
    if (!answered(facts)) return not_asked(facts);
    for (const auto& [gpu, list] : users(facts)) {
        std::size_t active = 0;
        for (const NvmlProcess* const one : list)
            active += one->utilization.value_or(0) > 0 ? 1 : 0;
        if (active < 2) continue;
        auto verdict = warning(std::to_string(active) + " pods are active on GPU " + gpu +
                               " at once: expect at most " + std::to_string(100 / active) +
                               " % each, less the switching.");
        for (const NvmlProcess* const one : list) {
            verdict.because(Place{one->place.path, one->place.line,
                                  (one->pod.empty() ? one->name : one->pod) + ": " +
                                      std::to_string(one->utilization.value_or(0)) + " %"});
        }
        verdict.note("Fewer shares of this GPU, or MPS or MIG, where work overlaps all the time.");
        return verdict;
    }
    return ok("no GPU has several busy users");
}

Verdict judge_memory_sum(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.memory_used_mib || !gpu.memory_total_mib || *gpu.memory_total_mib == 0) continue;
        const double part = 100.0 * *gpu.memory_used_mib / *gpu.memory_total_mib;
        std::size_t neighbours = 0;
        auto verdict = warning("");
        for (const NvmlProcess& one : facts.nvml.processes) {
            if (one.gpu != gpu.uuid && one.gpu != std::to_string(gpu.index)) continue;
            ++neighbours;
            verdict.because(Place{one.place.path, one.place.line,
                                  (one.pod.empty() ? one.name : one.pod) + ": " +
                                      std::to_string(one.memory_mib) + " MiB"});
        }
        if (part < 90 || neighbours < 2) continue;
        verdict.message = "The neighbours on " + name_of(gpu) + " use " + digits(part) +
                          " % of its memory: the next allocation may fail.";
        verdict.note("Fewer shares, smaller batches, or a memory limit per share.");
        return verdict;
    }
    return ok("shared GPUs have memory to spare");
}

Verdict judge_hollow(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (gpu.utilization.value_or(0) < 95 || !gpu.sm_active || *gpu.sm_active >= 0.3) continue;
        auto verdict =
            warning(name_of(gpu) + " shows 100 % but only " + digits(*gpu.sm_active * 100) +
                    " % of its multiprocessors work: utilisation only says that some kernel ran.");
        verdict.because(seen(gpu,
                             "utilization " + std::to_string(*gpu.utilization) + " %, SM active " +
                                 digits(*gpu.sm_active * 100) + " %",
                             "both high"));
        verdict.note("Larger batches, or share the GPU: there is room for others.");
        return verdict;
    }
    return ok("busy GPUs are really busy");
}

Verdict judge_link(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.link_width || !gpu.link_width_most || *gpu.link_width >= *gpu.link_width_most)
            continue;
        auto verdict =
            warning(name_of(gpu) + " copies over PCIe x" + std::to_string(*gpu.link_width) +
                    " of x" + std::to_string(*gpu.link_width_most) + ".");
        verdict.because(seen(gpu, "x" + std::to_string(*gpu.link_width),
                             "x" + std::to_string(*gpu.link_width_most)));
        verdict.note("See HW005: seat, slot, riser, bifurcation.");
        return verdict;
    }
    return ok("PCIe links have their width");
}

Verdict judge_nvlink(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        const unsigned inactive = gpu.nvlinks_inactive.value_or(0);
        const std::uint64_t errors = gpu.nvlink_errors.value_or(0);
        if (inactive == 0 && errors == 0) continue;
        auto verdict = warning(name_of(gpu) + ": " +
                               (inactive > 0 ? std::to_string(inactive) + " NVLinks are inactive"
                                             : std::to_string(errors) + " NVLink errors") +
                               ".");
        verdict.because(seen(gpu,
                             inactive > 0 ? std::to_string(inactive) + " inactive"
                                          : std::to_string(errors) + " errors",
                             "0"));
        verdict.mend("nvidia-smi nvlink -s -i " + std::to_string(gpu.index));
        return verdict;
    }
    return ok("NVLinks are up");
}

Verdict judge_repaired(const Facts& facts) {
    constexpr std::uint64_t kManyErrors = 1000;
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (gpu.ecc_corrected.value_or(0) < kManyErrors) continue;
        auto verdict = warning(name_of(gpu) + " corrected " + std::to_string(*gpu.ecc_corrected) +
                               " memory errors since the driver was loaded: each costs time.");
        verdict.because(seen(gpu, std::to_string(*gpu.ecc_corrected), "near 0"));
        verdict.note(
            "Watch it; when the number grows, reset the GPU so that rows are remapped, and plan "
            "its replacement.");
        return verdict;
    }
    return ok("memory repair slows nothing down");
}

Verdict judge_start(const Facts& facts) {
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        if (gpu_requests(pod).empty()) continue;
        for (const Said& said : facts.cluster.said) {
            if (said.pod != pod.id() || !said.text.contains("Successfully pulled image")) continue;
            // "... in 6m3.2s (6m3.2s including waiting). Image size: 14000000000 bytes."
            const std::string_view rest = after(said.text, "\" in ");
            const auto end = std::min(rest.find_first_of(" ("), rest.size());
            const std::string_view word = rest.substr(0, end);
            std::int64_t seconds = 0;
            if (const auto hours = word.find('h'); hours != std::string_view::npos) {
                seconds += number_from(word).value_or(0) * 3600;
            }
            const auto minute = word.find('m');
            const bool minutes = minute != std::string_view::npos && word.substr(minute, 2) != "ms";
            if (minutes) {
                const auto begin =
                    word.find_last_not_of("0123456789", minute == 0 ? 0 : minute - 1);
                seconds +=
                    60 * number_from(word.substr(begin == std::string_view::npos ? 0 : begin + 1))
                             .value_or(0);
            }
            if (seconds < 120) continue;
            auto verdict = warning("Pod " + pod.id() + ": " + std::to_string(seconds / 60) +
                                   " min of its start was pulling the image.");
            verdict.because(Evidence{
                .path = said.path, .line = said.line, .value = said.text, .expected = "seconds"});
            verdict.note(
                "A smaller image (runtime instead of devel), a registry near by, or a DaemonSet "
                "that "
                "pulls it beforehand.");
            return verdict;
        }
    }
    return facts.cluster.asked("Event") ? ok("no start is dominated by its image")
                                        : unknown("events were not read");
}

Verdict judge_slice(const Facts& facts) {
    if (!answered(facts)) return not_asked(facts);
    for (const NvmlProcess& one : facts.nvml.processes) {
        if (one.pod.empty()) continue;
        const auto slash = one.pod.find('/');
        if (slash == std::string::npos) continue;
        const Object* const pod =
            facts.cluster.find("Pod", one.pod.substr(0, slash), one.pod.substr(slash + 1));
        if (pod == nullptr) continue;
        for (const auto& [resource, count] : gpu_requests(*pod)) {
            const std::string_view profile = after(resource, "nvidia.com/mig-");
            const std::string_view memory = after(profile, ".");
            const auto gib = number_from(memory);
            if (profile.empty() || !gib || *gib <= 0 || one.memory_mib == 0) continue;
            const auto total = static_cast<std::uint64_t>(*gib) * 1024;
            const bool small = one.memory_mib * 100 > total * 95;
            const bool large = one.memory_mib * 100 < total * 25;
            if (!small && !large) continue;
            auto verdict =
                warning("MIG slice " + std::string(profile) + " of pod " + one.pod + " is too " +
                        (small ? "small" : "large") + ": it uses " +
                        std::to_string(one.memory_mib) + " of " + std::to_string(total) + " MiB.");
            verdict.because(one.place, small ? "some memory to spare" : "a smaller slice");
            verdict.mend("aliquot plan --help");
            return verdict;
        }
    }
    return ok("MIG slices fit what uses them");
}

constexpr Check kChecks[] = {
    {"PERF001", Level::kRun, false, "", judge_hardware_slowdown},
    {"PERF002", Level::kRun, false, "", judge_power_cap},
    {"PERF003", Level::kRun, false, "PERF002", judge_clocks},
    {"PERF004", Level::kRun, false, "CTR*", judge_idle},
    {"PERF005", Level::kRun, false, "", judge_cpu_bound},
    {"PERF006", Level::kRun, false, "", judge_saw_tooth},
    {"PERF007", Level::kRun, false, "", judge_contention},
    {"PERF008", Level::kRun, false, "", judge_memory_sum},
    {"PERF009", Level::kRun, false, "", judge_hollow},
    {"PERF010", Level::kRun, false, "", judge_link},
    {"PERF011", Level::kRun, false, "", judge_nvlink},
    {"PERF012", Level::kRun, false, "", judge_repaired},
    {"PERF013", Level::kRun, false, "", judge_start},
    {"PERF014", Level::kRun, false, "", judge_slice},
};

}  // namespace

std::span<const Check> performance_checks() { return kChecks; }

}  // namespace aliquot::doctor
