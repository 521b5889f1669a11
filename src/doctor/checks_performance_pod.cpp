// SPDX-License-Identifier: Apache-2.0
// Pods that use their GPU badly.
#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/text.h"
#include "doctor/measured.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

constexpr std::int64_t kIdleSeconds = 600;

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
    if (!measured(facts)) return not_measured(facts);
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        if (phase_of(pod) != "Running" || gpu_requests(pod).empty()) continue;
        const auto started = time_of(text_at(pod.body, {"status", "startTime"}));
        const std::int64_t age = started ? facts.now_s - *started : 0;
        const bool known =
            std::ranges::any_of(facts.telemetry.measured.processes,
                                [&](const NvmlProcess& one) { return one.pod == pod.id(); });
        const Said* const fallback = cpu_fallback(facts, pod.id());
        // Without the pods of processes only a pod that says so itself is idle for sure.
        const bool attributed =
            std::ranges::any_of(facts.telemetry.measured.processes,
                                [](const NvmlProcess& one) { return !one.pod.empty(); });
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
                const auto value =
                    static_cast<double>(parse_number<std::int64_t>(words[1]).value_or(0));
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

/// How many cores the container may use; 0: no limit, or not known.
double cpu_limit(const Facts& facts, const ShareUse& share) {
    const auto slash = std::min(share.pod.find('/'), share.pod.size());
    const Object* const pod = facts.cluster.find(
        "Pod", share.pod.substr(0, slash), share.pod.substr(std::min(slash + 1, share.pod.size())));
    if (pod == nullptr) return 0;
    for (const Value* const container : containers_of(*pod)) {
        if (text_at(*container, {"name"}) != share.container) continue;
        return k8s::quantity_value(text_at(*container, {"resources", "limits", "cpu"})).value_or(0);
    }
    return 0;
}

/// A container whose processes keep the CPU busy while the GPU has little to do. A program that
/// spins until its kernels end keeps the GPU busy as well, or waits for its limit.
const ShareUse* share_that_waits(const Facts& facts, double& limit) {
    for (const ShareUse* const share : asked_shares(facts)) {
        const NvmlGpu* const gpu = gpu_of(facts, *share);
        if (!share->cores || !share->used || share->waited.value_or(0) >= 0.05) continue;
        if (*share->used >= 0.5 || (gpu != nullptr && gpu->utilization.value_or(0) >= 60)) continue;
        limit = cpu_limit(facts, *share);
        if (*share->cores >= (limit > 0 ? std::min(1.0, limit) : 1.0) * 0.9) return share;
    }
    return nullptr;
}

Verdict judge_cpu_bound(const Facts& facts) {
    double limit = 0;
    if (const ShareUse* const share = share_that_waits(facts, limit)) {
        auto verdict =
            warning("The GPU waits for the CPU: " + name_of(*share) + " keeps " +
                    fixed_text(*share->cores, 1) +
                    (limit > 0 ? " of " + fixed_text(limit, 1) : "") + " CPU cores busy and " +
                    share->part + " " + percent_text(*share->used) + " of the time.");
        verdict.because(share->place, "a busy GPU, or idle CPUs");
        if (limit > 0 && *share->cores >= limit * 0.9) {
            verdict.edit("resources.limits.cpu: higher, or none", Risk::kRestartPods);
        } else {
            verdict.note(
                "Prepare data in more processes or threads (loader workers), on the GPU, "
                "or beforehand.");
        }
        verdict.as(Confidence::kLikely);
        return verdict;
    }
    std::string where;
    const double part = throttled_part(facts, where);
    const auto shares = asked_shares(facts);
    const bool told =
        std::ranges::any_of(shares, [](const ShareUse* one) { return one->cores.has_value(); });
    if (part < 0 && told) return ok("the CPU does not hold the GPU up");
    if (part < 0 && facts.telemetry.known && shares.empty()) {
        return not_here("nobody uses these GPUs");
    }
    if (part < 0) return unknown("CPU time of processes on GPUs was not read; --slow does that");
    const auto gpus = asked_gpus(facts);
    const bool waits = std::ranges::any_of(
        gpus, [](const NvmlGpu* gpu) { return gpu->utilization && *gpu->utilization < 30; });
    if (part < 20 || !waits) return ok("the CPU limit does not hold the GPU up");
    auto verdict = warning("The GPU waits for the CPU: a container is CPU-throttled " +
                           fixed_text(part, 0) + " % of its periods.");
    verdict.because(Evidence{
        .path = where, .value = fixed_text(part, 0) + " % throttled", .expected = "near 0"});
    verdict.edit("resources.limits.cpu: higher, or none", Risk::kRestartPods);
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
                if (const auto value = parse_number<std::int64_t>(words[column]))
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
                seconds += leading_number(word).value_or(0) * 3600;
            }
            const auto minute = word.find('m');
            const bool minutes = minute != std::string_view::npos && word.substr(minute, 2) != "ms";
            if (minutes) {
                const auto begin =
                    word.find_last_not_of("0123456789", minute == 0 ? 0 : minute - 1);
                seconds += 60 * leading_number(
                                    word.substr(begin == std::string_view::npos ? 0 : begin + 1))
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
                                        : not_read(facts, {"Event"});
}

Verdict judge_slice(const Facts& facts) {
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlProcess& one : facts.telemetry.measured.processes) {
        if (one.pod.empty()) continue;
        const auto slash = one.pod.find('/');
        if (slash == std::string::npos) continue;
        const Object* const pod =
            facts.cluster.find("Pod", one.pod.substr(0, slash), one.pod.substr(slash + 1));
        if (pod == nullptr) continue;
        for (const auto& [resource, count] : gpu_requests(*pod)) {
            const std::string_view profile = after(resource, "nvidia.com/mig-");
            const std::string_view memory = after(profile, ".");
            const auto gib = leading_number(memory);
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
            verdict.fix("aliquot plan --help");
            return verdict;
        }
    }
    return ok("MIG slices fit what uses them");
}

constexpr Check kPodPerformanceChecks[] = {
    {"PERF004", Level::kRun, false, "CTR*", judge_idle},
    {"PERF005", Level::kRun, false, "", judge_cpu_bound},
    {"PERF006", Level::kRun, false, "", judge_saw_tooth},
    {"PERF013", Level::kRun, false, "", judge_start},
    {"PERF014", Level::kRun, false, "", judge_slice},
};

}  // namespace

std::span<const Check> pod_performance_checks() { return kPodPerformanceChecks; }

}  // namespace aliquot::doctor
