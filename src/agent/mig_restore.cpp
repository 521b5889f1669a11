// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_restore.h"

#include "base/log.h"
#include "mig/apply.h"
#include "mig/state_directory.h"

namespace aliquot::agent {
namespace {

/// For the way forward, and again for the way back: kubelet waits for the devices meanwhile.
constexpr std::chrono::milliseconds kLimit{60'000};

constexpr std::chrono::milliseconds kHolderTimeout{1000};

dra::HeldDevices held_devices(const os::Root& root, const dra::NotePlaces& claims,
                              kubelet::PodResources& pods) {
    dra::HeldDevices held;
    held.take_notes(root, claims);
    const auto holders = pods.list(kHolderTimeout);
    if (!holders) return held;  // no kubelet, no pods; the driver still knows what is in use
    for (const kubelet::Holder& holder : *holders) held.take(holder);
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
    const dra::HeldDevices held = held_devices(root_, claims_, pods_);
    if (!held.problem().empty()) {
        log::warning("mig.not_restored", {{"why", held.problem()}});
        return;
    }
    const mig::ApplyOptions options{.limit = kLimit, .allow_reset = false, .held = held.uuids()};
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
