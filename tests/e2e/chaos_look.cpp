// SPDX-License-Identifier: Apache-2.0
//
// What must hold at every moment, and what must hold again after a while.
#include <algorithm>
#include <thread>

#include "tests/e2e/chaos_node.h"

namespace aliquot::chaos {
namespace {

using std::chrono::milliseconds;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kLook = milliseconds(5);

}  // namespace

void ChaosNode::mend_what_is_due() {
    for (unsigned gpu = 0; gpu < troubles_.size(); ++gpu) {
        Trouble& trouble = troubles_[gpu];
        if (!trouble.since || Clock::now() < trouble.until) continue;
        if (const auto done = node_->inject(gpu, sim::FaultKind::kClear, 0); !done) {
            throw Broken("fix GPU " + std::to_string(gpu) + ": " + done.error().message);
        }
        trouble.since.reset();
        end(trouble);
    }
}

void ChaosNode::end(Trouble& trouble) const {
    trouble.ended = Clock::now();
    trouble.ended_at = lived_;
}

/// What the simulated node has; where a program that stands still keeps its lock nothing can be said of any device.
std::vector<sim::GpuView> ChaosNode::gpus() const {
    for (int i = 0; i < 12; ++i)  // 5 s each
        if (auto gpus = node_->gpus(); !gpus.empty()) return gpus;
    throw Broken("the simulated node did not answer for a minute: who has its lock?");
}

std::string ChaosNode::owner_of(const std::string& device) const {
    const std::string base = base_of(device);
    for (const sim::GpuView& gpu : gpus()) {
        if (gpu.uuid == base) return gpu.uuid;
        for (const sim::MigDeviceView& one : gpu.mig_devices) {
            if (one.uuid == base) return gpu.uuid;
        }
    }
    return {};
}

bool ChaosNode::may_be_unhealthy(const std::string& device) const {
    const std::string base = base_of(device);
    for (const sim::GpuView& gpu : gpus()) {
        const Trouble& trouble = troubles_[gpu.index];
        if (gpu.uuid == base) return trouble.since || trouble.ended;
        for (const sim::MigDeviceView& one : gpu.mig_devices) {
            if (one.uuid != base) continue;
            if (!trouble.since && !trouble.ended) return false;
            return !trouble.where || *trouble.where == one.instance;
        }
    }
    return true;  // cut away: it is on its way out
}

void ChaosNode::look() {
    constexpr milliseconds kStep{20};
    const auto now = Clock::now();
    lived_ += std::min(std::chrono::duration_cast<milliseconds>(now - looked_), kStep);
    looked_ = now;
    mend_what_is_due();
    look_at_pods();
    look_at_devices();
}

/// Whatever happens, a pod keeps its process, its devices and, on a MIG device, its instance.
void ChaosNode::look_at_pods() {
    const auto holders = kubelet_->holders();
    std::map<std::string, std::string> taken;
    for (auto& [uid, pod] : pods_) {
        if (pod.process->poll()) throw Broken("the process of " + uid + " has ended");
        const auto held = holders.find(pod.device);
        if (held == holders.end() || !held->second.starts_with(uid + "/")) {
            throw Broken(uid + " does not hold " + pod.device + " any more");
        }
        if (const auto [other, is_new] = taken.emplace(pod.device, uid); !is_new) {
            throw Broken(pod.device + " is held by " + other->second + " and " + uid);
        }
        if (!pod.mig_uuid.empty() && owner_of(pod.device).empty()) {
            throw Broken("the MIG device of " + uid + " was destroyed under it");
        }
    }
    if (holders.size() != pods_.size()) {
        throw Broken("kubelet says that " + std::to_string(holders.size()) +
                     " devices are held, but there are " + std::to_string(pods_.size()) + " pods");
    }
}

/// Only what is broken, or was a moment ago, may be unhealthy; what recovered comes back in time.
void ChaosNode::look_at_devices() {
    const auto resources = kubelet_->resources();
    std::vector<bool> missing(troubles_.size(), false);
    for (const auto& [name, view] : resources) {
        for (const std::string& device : view.unhealthy) {
            if (!may_be_unhealthy(device)) {
                throw Broken(device + " of " + name + " is unhealthy for no reason");
            }
            const std::string owner = owner_of(device);
            for (const sim::GpuView& gpu : node_->gpus()) {
                if (gpu.uuid == owner) missing[gpu.index] = true;
            }
        }
    }
    for (std::size_t gpu = 0; gpu < troubles_.size(); ++gpu) {
        Trouble& trouble = troubles_[gpu];
        if (!trouble.ended) continue;
        const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - *trouble.ended);
        // A fault that ended before anybody noticed may still be noticed: wait that long at least.
        if (!missing[gpu] && passed > milliseconds(2500)) {
            trouble = {};
        } else if (missing[gpu] && lived_ - trouble.ended_at > kRecovery) {
            throw Broken("GPU " + std::to_string(gpu) + " recovered " +
                         std::to_string(passed.count()) + " ms ago and is not offered again");
        } else if (missing[gpu]) {
            slowest_ = std::max(slowest_, passed);
        }
    }
}

void ChaosNode::settle() {
    const auto end = Clock::now() + kPatience;
    for (Trouble& trouble : troubles_) trouble.until = Clock::now();
    while (Clock::now() < end) {
        look();
        std::size_t offered = 0;
        for (const auto& [name, view] : kubelet_->resources()) offered += view.allocatable;
        std::size_t expected = 0;
        for (const sim::GpuView& gpu : node_->gpus()) {
            if (!gpu.mig_enabled) expected += 4;
            for (const sim::MigDeviceView& device : gpu.mig_devices) {
                expected += device.profile == "1g.5gb" ? 2 : 1;
            }
        }
        const bool quiet = std::ranges::none_of(troubles_, [](const Trouble& trouble) {
            return trouble.since.has_value() || trouble.ended.has_value();
        });
        if (quiet && offered == expected) return;
        std::this_thread::sleep_for(kLook);  // polls: another process
    }
    throw Broken("after everything was fixed not all devices are offered");
}

}  // namespace aliquot::chaos
