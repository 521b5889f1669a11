// SPDX-License-Identifier: Apache-2.0
#include "doctor/measured.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aliquot::doctor {
namespace {

bool is_about_one(const Facts& facts) {
    return facts.target.kind == Target::Kind::kPod || facts.target.pid != 0;
}

bool is_asked(const Facts& facts, const ShareUse& share) {
    const Target& target = facts.target;
    if (target.pid != 0) return std::ranges::count(share.pids, target.pid) != 0;
    if (target.kind != Target::Kind::kPod) return true;
    return share.pod == target.name &&
           (target.container.empty() || share.container == target.container);
}

}  // namespace

bool measured(const Facts& facts) {
    const NvmlFacts& told = facts.telemetry.measured;
    return told.state == NvmlFacts::State::kOk && !told.gpus.empty();
}

Verdict not_measured(const Facts& facts) {
    const NvmlFacts& told = facts.telemetry.measured;
    if (told.state == NvmlFacts::State::kFailed || told.state == NvmlFacts::State::kHung) {
        return not_here("NVML gave no answer");
    }
    if (told.state == NvmlFacts::State::kOk) return not_here("there is no GPU");
    const bool of_host = facts.target.kind == Target::Kind::kHost;
    return unknown(of_host ? told.reason + "; " + facts.telemetry.reason : facts.telemetry.reason);
}

std::vector<const ShareUse*> asked_shares(const Facts& facts) {
    std::vector<const ShareUse*> asked;
    for (const ShareUse& one : facts.telemetry.shares) {
        if (is_asked(facts, one)) asked.push_back(&one);
    }
    return asked;
}

std::vector<const NvmlGpu*> asked_gpus(const Facts& facts) {
    const auto shares = asked_shares(facts);
    // Without an agent nobody knows which GPUs are the pod's: all that were measured may be.
    const bool all = !is_about_one(facts) || !facts.telemetry.known;
    std::vector<const NvmlGpu*> asked;
    for (const NvmlGpu& gpu : facts.telemetry.measured.gpus) {
        const bool used =
            std::ranges::any_of(shares, [&](const ShareUse* one) { return one->gpu == gpu.uuid; });
        if (all || used) asked.push_back(&gpu);
    }
    return asked;
}

const NvmlGpu* gpu_of(const Facts& facts, const ShareUse& share) {
    const auto& gpus = facts.telemetry.measured.gpus;
    const auto found = std::ranges::find(gpus, share.gpu, &NvmlGpu::uuid);
    return found == gpus.end() ? nullptr : &*found;
}

std::string name_of(const ShareUse& share) {
    const std::string in = share.container.empty() ? "" : " (" + share.container + ")";
    if (!share.pod.empty()) return share.pod + in;
    return share.pids.empty() ? "a process" + in : "process " + std::to_string(share.pids[0]) + in;
}

std::string percent_text(double part) { return std::to_string(std::lround(part * 100)) + " %"; }

Evidence seen(const NvmlGpu& gpu, std::string value, std::string expected) {
    return {.path = gpu.place.path,
            .line = gpu.place.line,
            .value = std::move(value),
            .expected = std::move(expected)};
}

}  // namespace aliquot::doctor
