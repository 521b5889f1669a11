// SPDX-License-Identifier: Apache-2.0
// What holds a share of a GPU back: its limit, its neighbours, the link, the memory, the clocks.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "doctor/measured.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

constexpr double kMuchOfTheTime = 0.10;
constexpr double kFull = 0.95;

std::string clocks_of(const NvmlGpu& gpu) {
    if (!gpu.sm_clock_mhz) return {};
    std::string text = ", " + std::to_string(*gpu.sm_clock_mhz) + " MHz";
    if (gpu.sm_clock_most_mhz) text += " of " + std::to_string(*gpu.sm_clock_most_mhz);
    return text;
}

Verdict judge_unwell(const Facts& facts) {
    // Without an agent the checks of NVML say it.
    if (!facts.telemetry.known) return unknown(facts.telemetry.reason);
    for (const NvmlGpu* const gpu : asked_gpus(facts)) {
        const bool waits = gpu->remap_pending.value_or(false);
        if (gpu->error_text.empty() && !waits) continue;
        const std::string what =
            gpu->error_text.empty() ? "a memory row waits to be replaced" : gpu->error_text;
        auto verdict = warning("GPU " + std::to_string(gpu->index) + " is not well: " + what + ".");
        verdict.because(seen(*gpu, what, "a healthy GPU"));
        verdict.note(waits ? "Drain the GPU and reset it: nvidia-smi --gpu-reset -i " +
                                 std::to_string(gpu->index)
                           : "aliquot doctor node says what to do with it.");
        return verdict;
    }
    return ok("the GPUs are well");
}

/// Reasons of the software: heat and power that the driver keeps within their limits.
Verdict judge_software_slowdown(const Facts& facts) {
    struct Cause {
        const char* name;
        std::uint64_t bit;
        const char* words;
    };
    constexpr std::array<Cause, 4> kCauses{{{"sw_thermal", 0x20, "to stay below its temperature"},
                                            {"thermal", 0x20, "to stay below its temperature"},
                                            {"sw_power", 0x4, "to stay within its power limit"},
                                            {"sync_boost", 0x10, "to go with the slowest GPU"}}};
    if (!measured(facts)) return not_measured(facts);
    for (const NvmlGpu* const gpu : asked_gpus(facts)) {
        for (const auto& [name, bit, words] : kCauses) {
            const auto part = gpu->throttled_percent.find(name);
            const bool known = part != gpu->throttled_percent.end();
            const bool now = (gpu->throttle_bits.value_or(0) & bit) != 0;
            if (known ? part->second < 100 * kMuchOfTheTime : !now) continue;
            auto verdict = warning(
                "GPU " + std::to_string(gpu->index) + " clocks down " + words +
                (known ? " " + fixed_text(part->second, 0) + " % of the time" : " at the moment") +
                clocks_of(*gpu) + ".");
            verdict.because(
                seen(*gpu,
                     std::string(name) +
                         (gpu->temperature ? ", " + std::to_string(*gpu->temperature) + " C" : "") +
                         (gpu->power_limit_w
                              ? ", power limit " + fixed_text(*gpu->power_limit_w, 0) + " W"
                              : ""),
                     "below 10 % of the time"));
            const bool capped = gpu->power_limit_w && gpu->power_default_w &&
                                *gpu->power_limit_w < *gpu->power_default_w;
            if (bit == 0x4 && capped) {
                verdict.note("The limit was set to " + fixed_text(*gpu->power_limit_w, 0) +
                             " W; the board's own is " + fixed_text(*gpu->power_default_w, 0) +
                             " W.");
                verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu->index) + " -pl " +
                            fixed_text(*gpu->power_default_w, 0));
            } else if (bit == 0x4) {
                verdict.note(
                    "Usual under full load; a higher power limit (nvidia-smi -pl), if "
                    "the board has one, or less power for neighbours in the chassis.");
            } else if (bit == 0x20) {
                verdict.note("Better cooling: airflow, dust, fans, the temperature of the room.");
            } else {
                verdict.note("A sync boost group runs at the clocks of its slowest GPU.");
            }
            return verdict;
        }
    }
    return ok("neither heat nor power lowers the clocks");
}

bool is_shared(const ShareUse& share) {
    return share.entitlement > 0 && share.entitlement < 1 - 1e-6;
}

Verdict judge_limit(const Facts& facts) {
    if (!facts.telemetry.known) return unknown(facts.telemetry.reason);
    for (const ShareUse* const share : asked_shares(facts)) {
        const bool kept_waiting = share->waited.value_or(0) >= kMuchOfTheTime;
        const bool mps = share->mechanism == grant::Mechanism::kMps && is_shared(*share) &&
                         share->used && *share->used >= kFull * share->entitlement;
        const bool slice = share->mechanism == grant::Mechanism::kMig &&
                           share->entitlement >= 1 - 1e-6 && share->used.value_or(0) >= kFull;
        if (!kept_waiting && !mps && !slice) continue;
        std::string message = name_of(*share);
        if (slice && !kept_waiting) {
            message += " keeps its slice fully busy: " + share->part + ".";
        } else {
            message += " has reached its limit on " + share->part + ": " +
                       percent_text(share->entitlement) + " of the GPU" +
                       (share->used ? ", it uses " + percent_text(*share->used) : "") +
                       (kept_waiting ? " and was kept waiting " + percent_text(*share->waited) +
                                           " of the time"
                                     : "") +
                       ".";
        }
        auto verdict = warning(message);
        verdict.because(share->place, "use below the limit");
        if (slice && !kept_waiting) {
            verdict.edit("resources.limits: a larger MIG profile", Risk::kRestartPods);
        } else if (mps && !kept_waiting) {
            verdict.edit("sharing.mps: fewer replicas, or a higher active thread percentage",
                         Risk::kRestartPods);
        } else {
            verdict.edit(
                "sharing configuration: a higher compute limit of its resource, or fewer "
                "replicas",
                Risk::kRestartPods);
        }
        return verdict;
    }
    return ok("no share is held back by its limit");
}

/// What a link carries in one direction, in bytes a second; 0: a generation that is not known.
/// source   PCI Express base specification: transfer rate less the encoding
double capacity_of(unsigned generation, unsigned lanes) {
    constexpr std::array<double, 7> kPerLane{0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
    return generation < kPerLane.size() ? kPerLane.at(generation) * lanes : 0;
}

Verdict judge_transfers(const Facts& facts) {
    constexpr double kMostOfALink = 0.70;
    if (!measured(facts)) return not_measured(facts);
    bool known = false;
    for (const NvmlGpu* const gpu : asked_gpus(facts)) {
        if (!gpu->link_width || !gpu->link_generation || !gpu->link_rx_bytes_per_s) continue;
        known = true;
        const double capacity = capacity_of(*gpu->link_generation, *gpu->link_width);
        const double most =
            std::max(*gpu->link_rx_bytes_per_s, gpu->link_tx_bytes_per_s.value_or(0));
        if (capacity <= 0 || most < kMostOfALink * capacity) continue;
        auto verdict =
            warning("Copies fill the PCIe link of GPU " + std::to_string(gpu->index) + ": " +
                    fixed_text(most / 1e9, 1) + " of " + fixed_text(capacity / 1e9, 1) + " GB/s.");
        verdict.because(seen(*gpu,
                             "to the GPU " + fixed_text(*gpu->link_rx_bytes_per_s / 1e9, 1) +
                                 ", from it " +
                                 fixed_text(gpu->link_tx_bytes_per_s.value_or(0) / 1e9, 1) +
                                 " GB/s over generation " + std::to_string(*gpu->link_generation) +
                                 " x" + std::to_string(*gpu->link_width),
                             "below 70 % of the link"));
        verdict.note(
            "Keep data on the GPU, pin host memory, copy while computing. With managed "
            "memory and a full GPU these are pages: use less memory.");
        return verdict;
    }
    if (!known) return unknown("the driver does not tell PCIe traffic (before Hopper it does not)");
    return ok("the PCIe links have room");
}

Verdict judge_refused_memory(const Facts& facts) {
    if (!facts.telemetry.known) return unknown(facts.telemetry.reason);
    for (const ShareUse* const share : asked_shares(facts)) {
        const bool refused = share->denied.value_or(0) > 0;
        if (!refused) continue;
        auto verdict = warning(name_of(*share) + " asks for more memory than it may have: " +
                               fixed_text(*share->denied, 0) + " requests were refused in " +
                               fixed_text(facts.telemetry.seconds, 0) + " s.");
        verdict.because(share->place, share->memory_limit_mib
                                          ? "at most " + std::to_string(*share->memory_limit_mib) +
                                                " MiB, it has " + std::to_string(share->memory_mib)
                                          : "no request above the limit");
        verdict.edit("sharing configuration: a higher memory limit, or a smaller batch",
                     Risk::kRestartPods);
        return verdict;
    }
    return ok("no request for memory was refused");
}

constexpr Check kSlowChecks[] = {
    {"PERF015", Level::kRun, false, "", judge_software_slowdown},
    {"PERF016", Level::kRun, false, "", judge_limit},
    {"PERF017", Level::kRun, false, "", judge_transfers},
    {"PERF018", Level::kRun, false, "", judge_refused_memory},
    {"PERF019", Level::kRun, false, "", judge_unwell},
};

}  // namespace

std::span<const Check> slow_checks() { return kSlowChecks; }

}  // namespace aliquot::doctor
