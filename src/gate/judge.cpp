// SPDX-License-Identifier: Apache-2.0
#include "gate/judge.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::gate {
namespace {

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

std::string mig_text(const GpuState& gpu) {
    if (!gpu.mig_enabled) return "off";
    return gpu.mig_devices.empty() ? "on, not cut" : join(gpu.mig_devices);
}

class Judge {
public:
    Judge(const GpuState& now, const GpuState* base, std::vector<Leftover>& found)
        : now_(now), base_(base), found_(found) {}

    void processes() {
        for (const std::uint32_t pid : now_.processes) {
            const bool was_there = base_ != nullptr && std::ranges::find(base_->processes, pid) !=
                                                           base_->processes.end();
            if (was_there) continue;
            add(LeftoverKind::kProcess, "process " + std::to_string(pid) + " is still there");
            found_.back().pid = pid;
        }
    }
    void memory(const Rules& rules) {
        const std::uint64_t most =
            std::max(rules.memory_bytes, base_ == nullptr ? 0 : base_->memory_used_bytes);
        if (now_.memory_used_bytes <= most) return;
        add(LeftoverKind::kMemory, mib(now_.memory_used_bytes) + " of memory are used, at most " +
                                       mib(most) + " expected");
    }
    void faults() {
        constexpr unsigned kNone = 0;
        if (!now_.problem.empty()) add(LeftoverKind::kFault, now_.problem);
        const unsigned before = base_ == nullptr ? kNone : base_->recovery_action.value_or(kNone);
        if (now_.problem.empty() && now_.recovery_action.value_or(kNone) != kNone &&
            before == kNone) {
            add(LeftoverKind::kFault, "the driver asks for a reset (recovery action " +
                                          std::to_string(*now_.recovery_action) + ")");
        }
        const std::uint64_t errors = now_.ecc_uncorrected.value_or(0);
        const std::uint64_t known = base_ == nullptr ? 0 : base_->ecc_uncorrected.value_or(0);
        if (errors > known) {
            add(LeftoverKind::kEcc,
                std::to_string(errors - known) + " uncorrectable memory errors (ECC)");
        }
    }
    void settings() {
        if (base_ == nullptr) return;
        if (now_.clocks_set && !base_->clocks_set) {
            add(LeftoverKind::kClocks, "application clocks are set; reset: nvidia-smi -i " +
                                           std::to_string(now_.index) + " -rac");
        }
        if (now_.power_limit_milliwatts && base_->power_limit_milliwatts &&
            *now_.power_limit_milliwatts != *base_->power_limit_milliwatts) {
            add(LeftoverKind::kClocks,
                "the power limit was changed from " +
                    std::to_string(*base_->power_limit_milliwatts / 1000) + " W to " +
                    std::to_string(*now_.power_limit_milliwatts / 1000) + " W");
        }
        if (now_.mig_enabled != base_->mig_enabled || now_.mig_devices != base_->mig_devices) {
            add(LeftoverKind::kMig, "MIG is " + mig_text(now_) + ", it was " + mig_text(*base_));
        }
    }

private:
    void add(LeftoverKind kind, const std::string& what) {
        found_.push_back({.kind = kind,
                          .uuid = now_.uuid,
                          .gpu = now_.index,
                          .message = "GPU " + std::to_string(now_.index) + ": " + what});
    }
    const GpuState& now_;
    const GpuState* base_;
    std::vector<Leftover>& found_;
};

}  // namespace

std::string_view to_text(LeftoverKind kind) {
    switch (kind) {
        case LeftoverKind::kProcess:
            return "process";
        case LeftoverKind::kMemory:
            return "memory";
        case LeftoverKind::kFault:
            return "fault";
        case LeftoverKind::kEcc:
            return "ecc";
        case LeftoverKind::kClocks:
            return "clocks";
        case LeftoverKind::kMig:
            return "mig";
        case LeftoverKind::kGone:
            return "gone";
    }
    return "";
}

std::vector<Leftover> judge(const NodeState& now, const NodeState* base, const Rules& rules) {
    std::vector<Leftover> found;
    for (const GpuState& gpu : now) {
        const GpuState* before = nullptr;
        if (base != nullptr) {
            const auto known = std::ranges::find(*base, gpu.uuid, &GpuState::uuid);
            if (known != base->end()) before = &*known;
        }
        Judge one(gpu, before, found);
        one.processes();
        one.memory(rules);
        one.faults();
        one.settings();
    }
    if (base == nullptr) return found;
    for (const GpuState& gpu : *base) {
        if (std::ranges::find(now, gpu.uuid, &GpuState::uuid) != now.end()) continue;
        found.push_back({.kind = LeftoverKind::kGone,
                         .uuid = gpu.uuid,
                         .gpu = gpu.index,
                         .message = "GPU " + std::to_string(gpu.index) +
                                    ": the driver lists it no more; it was " + gpu.uuid});
    }
    return found;
}

}  // namespace aliquot::gate
