// SPDX-License-Identifier: Apache-2.0
// Modes and health of the single GPU, as NVML tells them.
#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nvml_gpu.h"

namespace aliquot::doctor {
namespace {

Verdict judge_exclusive(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        const std::string mode = lower(one.compute_mode);
        return mode.starts_with("exclusive") || mode == "e. process" || mode == "3";
    });
    if (gpu == nullptr) return ok("no GPU is in an exclusive mode");
    const bool mps = facts.host.program("nvidia-cuda-mps") != nullptr ||
                     facts.tree.has_beneath("/run/nvidia/mps") ||
                     std::ranges::any_of(facts.cluster.all("Pod"), [](const Object& pod) {
                         return pod.name.contains("mps-control") && !is_finished(pod);
                     });
    if (mps) return ok("EXCLUSIVE_PROCESS, as MPS wants it");
    auto verdict = failed(name_of(*gpu) +
                          " is in EXCLUSIVE_PROCESS (left by MPS) and no MPS daemon "
                          "runs: the second process gets error 46, devices busy or unavailable.");
    verdict.because(place_of(*gpu, "compute mode " + gpu->compute_mode), "Default");
    verdict.fix("sudo nvidia-smi -i " + std::to_string(gpu->index) + " -c DEFAULT");
    return verdict;
}

Verdict judge_mig_pending(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return !one.mig_current.empty() && !one.mig_pending.empty() && one.mig_pending != "N/A" &&
               one.mig_current != one.mig_pending;
    });
    if (gpu == nullptr) return ok("no MIG mode change is pending");
    auto verdict = failed(name_of(*gpu) + ": a MIG mode change is pending (" + gpu->mig_current +
                          " now, " + gpu->mig_pending + " after a reset).");
    verdict.because(
        place_of(*gpu, "MIG current " + gpu->mig_current + ", pending " + gpu->mig_pending),
        "the same");
    verdict.fix(
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
        "--gpu-reset -i " +
            std::to_string(gpu->index),
        Risk::kDrain);
    return verdict;
}

Verdict judge_mig_empty(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return one.in_mig_mode() && one.mig_instances && *one.mig_instances == 0;
    });
    if (gpu == nullptr) return ok("no GPU is in MIG mode without an instance");
    auto verdict = failed(name_of(*gpu) +
                          ": MIG is on but there are 0 instances, so it offers "
                          "nothing.");
    verdict.because(place_of(*gpu, "MIG Enabled, 0 GPU instances"), "at least one");
    verdict.fix("sudo nvidia-smi mig -i " + std::to_string(gpu->index) + " -lgip");
    verdict.note(
        "Then create instances (nvidia-smi mig -cgi PROFILE -C, or the label "
        "nvidia.com/mig.config for mig-manager), or turn MIG off.");
    return verdict;
}

Verdict judge_ecc(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    if (const NvmlGpu* gpu =
            first_gpu(facts, [](const NvmlGpu& one) { return one.remap_failed.value_or(false); })) {
        auto verdict = failed(name_of(*gpu) +
                              ": a row could not be remapped; the card must be "
                              "replaced.");
        verdict.because(place_of(*gpu, "row remapping failed"), "no failure");
        verdict.note("Drain the node, open a case for a replacement.");
        return verdict;
    }
    if (const NvmlGpu* gpu = first_gpu(facts, [](const NvmlGpu& one) {
            return one.remap_pending.value_or(false) || one.pages_pending.value_or(false);
        })) {
        auto verdict = warning(name_of(*gpu) +
                               ": a row remapping is pending; it takes effect with "
                               "the next reset.");
        verdict.because(place_of(*gpu, "pending"), "none pending");
        verdict.fix("sudo nvidia-smi --gpu-reset -i " + std::to_string(gpu->index), Risk::kDrain);
        return verdict;
    }
    if (const NvmlGpu* gpu = first_gpu(
            facts, [](const NvmlGpu& one) { return one.ecc_uncorrected.value_or(0) > 0; })) {
        auto verdict = failed(name_of(*gpu) + ": " + std::to_string(*gpu->ecc_uncorrected) +
                              " uncorrectable memory errors since the driver was loaded.");
        verdict.because(place_of(*gpu, std::to_string(*gpu->ecc_uncorrected)), "0");
        verdict.fix(
            "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
            "--gpu-reset -i " +
                std::to_string(gpu->index),
            Risk::kDrain);
        verdict.note("When they come back after a reset: replace the card.");
        return verdict;
    }
    return ok("no memory errors, nothing to remap");
}

Verdict judge_license(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(
        facts, [](const NvmlGpu& one) { return contains_folded(one.license, "unlicensed"); });
    if (gpu == nullptr) return ok("no vGPU is without a licence");
    auto verdict = failed(name_of(*gpu) +
                          ": the vGPU has no licence; its clocks are limited after 20 "
                          "minutes.");
    verdict.because(place_of(*gpu, gpu->license), "Licensed");
    verdict.fix("sudo systemctl restart nvidia-gridd && nvidia-smi -q | grep -i license");
    verdict.note(
        "Put the client token into /etc/nvidia/ClientConfigToken/ and look at "
        "/etc/nvidia/gridd.conf.");
    return verdict;
}

constexpr std::string_view kNoAnswer = "NVML001 NVML002 NVML003 NVML015 NVML016";

constexpr Check kGpuStateChecks[] = {
    {"NVML008", Level::kNvml, false, kNoAnswer, judge_exclusive},
    {"NVML009", Level::kNvml, false, kNoAnswer, judge_mig_pending},
    {"NVML010", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML009 NVML015 NVML016",
     judge_mig_empty},
    {"NVML011", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML004 NVML015 NVML016", judge_ecc},
    {"NVML013", Level::kNvml, false, kNoAnswer, judge_license},
};

}  // namespace

std::span<const Check> gpu_state_checks() { return kGpuStateChecks; }

}  // namespace aliquot::doctor
