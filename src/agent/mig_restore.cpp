// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_restore.h"

#include <set>

#include "base/log.h"
#include "gpu/replica_id.h"
#include "mig/apply.h"
#include "mig/state_directory.h"

namespace aliquot::agent {
namespace {

/// For the way forward, and again for the way back: kubelet waits for the devices meanwhile.
constexpr std::chrono::milliseconds kLimit{60'000};

constexpr std::chrono::milliseconds kHolderTimeout{1000};

std::set<std::string> held_devices(kubelet::PodResources& pods) {
    std::set<std::string> held;
    const auto holders = pods.list(kHolderTimeout);
    if (!holders) return held;  // no kubelet, no pods; the driver still knows what is in use
    for (const kubelet::Holder& holder : *holders) {
        for (const std::string& id : holder.ids) held.emplace(gpu::device_of(id));
    }
    return held;
}

void tell(const mig::GpuReport& gpu) {
    using Reached = mig::GpuReport::State;
    if (gpu.state == Reached::kUnchanged) return;
    const auto write = gpu.state == Reached::kReached ? log::info : log::warning;
    write("mig.restore", {{"gpu", gpu.gpu.text},
                          {"index", gpu.index},
                          {"state", mig::to_text(gpu.state)},
                          {"why", gpu.message}});
}

}  // namespace

bool MigRestore::wanted() const {
    return !done_ &&
           (root_.exists(directory_ + "/wish.json") || root_.exists(directory_ + "/journal.json"));
}

bool MigRestore::attempt() {
    if (!wanted() || !driver_.enumerate(gpu::Links::kLeaveOut)) return false;
    const auto open = driver_.open();
    if (!open) return false;
    done_ = true;
    restore(**open);
    return true;
}

void MigRestore::restore(gpu::Partitioner& gpus) {
    const auto state = mig::StateDirectory::open(root_, directory_, {}, clock_);
    if (!state) {
        log::warning("mig.not_restored", {{"why", state.error().message}});
        return;
    }
    const mig::ApplyOptions options{
        .limit = kLimit, .allow_reset = false, .held = held_devices(pods_)};
    const auto report = mig::restore(gpus, *state, options, clock_);
    if (!report) {
        log::error("mig.not_restored", {{"why", report.error().message}});
        return;
    }
    if (!report->recovered.empty()) log::warning("mig.recovered", {{"what", report->recovered}});
    for (const mig::GpuReport& gpu : report->gpus) tell(gpu);
    if (!report->problem.empty()) log::error("mig.not_restored", {{"why", report->problem}});
}

}  // namespace aliquot::agent
