// SPDX-License-Identifier: Apache-2.0
#include "gate/watch.h"

#include <algorithm>

namespace aliquot::gate {

std::vector<std::string> Watch::due(const std::vector<std::string>& gpus,
                                    const std::set<std::string>& held, os::TimePoint now) {
    std::vector<std::string> due;
    for (const std::string& uuid : gpus) {
        Gpu& gpu = gpus_[uuid];
        if (held.contains(uuid)) {
            gpu.was_held = true;
            continue;
        }
        const auto pause = gpu.leftovers.empty() ? options_.idle_pause : options_.dirty_pause;
        if (gpu.was_held || !gpu.looked || now - *gpu.looked >= pause) due.push_back(uuid);
    }
    for (auto& [uuid, gpu] : gpus_) {
        if (std::ranges::find(gpus, uuid) != gpus.end()) continue;
        const unsigned index = gpu.clean ? gpu.clean->index : 0;
        gpu.was_held = true;  // should it come back
        gpu.leftovers = {{.kind = LeftoverKind::kGone,
                          .uuid = uuid,
                          .gpu = index,
                          .message = "GPU " + std::to_string(index) +
                                     ": the driver lists it no more; it was " + uuid}};
    }
    return due;
}

NodeState Watch::base_of(const std::vector<std::string>& gpus) const {
    NodeState base;
    for (const std::string& uuid : gpus) {
        const auto known = gpus_.find(uuid);
        if (known != gpus_.end() && known->second.clean) base.push_back(*known->second.clean);
    }
    return base;
}

void Watch::note(const std::vector<std::string>& gpus, const NodeState& state,
                 const std::vector<Leftover>& leftovers, os::TimePoint now) {
    for (const std::string& uuid : gpus) {
        Gpu& gpu = gpus_[uuid];
        gpu.was_held = false;
        gpu.looked = now;
        gpu.leftovers.clear();
        for (const Leftover& one : leftovers) {
            if (one.uuid == uuid) gpu.leftovers.push_back(one);
        }
        const auto seen = std::ranges::find(state, uuid, &GpuState::uuid);
        if (gpu.leftovers.empty() && seen != state.end()) gpu.clean = *seen;
    }
}

std::vector<Leftover> Watch::leftovers() const {
    std::vector<Leftover> all;
    for (const auto& [uuid, gpu] : gpus_) {
        all.insert(all.end(), gpu.leftovers.begin(), gpu.leftovers.end());
    }
    std::ranges::stable_sort(all, {}, &Leftover::gpu);
    return all;
}

}  // namespace aliquot::gate
