// SPDX-License-Identifier: Apache-2.0
#include "agent/planned_grants.h"

#include <algorithm>
#include <tuple>

#include "gpu/replica_id.h"

namespace aliquot::agent {
namespace {

constexpr std::size_t kMostPlanned = 4096;

bool asks_for(const scheduling::DeviceRequest& one, const std::string& resource, std::size_t size) {
    return one.resource == resource && one.count == size;
}

}  // namespace

std::map<std::string, std::string> gpus_of_devices(const sharing::Resource& resource) {
    std::map<std::string, std::string> gpus;
    for (const sharing::OfferedGpu& device : resource.gpus)
        gpus[device.uuid().text] = device.gpu.uuid.text;
    return gpus;
}

void PlannedGrants::set(const std::string& uid, const std::string& created,
                        const scheduling::Plan& plan, const std::string& node) {
    const auto target = std::ranges::find(plan.targets, node, &scheduling::Target::node);
    const std::scoped_lock lock(mutex_);
    if (target == plan.targets.end() || served_.contains(uid) || planned_.size() >= kMostPlanned)
        return;
    if (std::ranges::find(planned_, uid, &Planned::uid) != planned_.end()) return;
    Planned made{.uid = uid, .created = created, .asked = plan.asked, .units = target->units};
    const auto older = [](const Planned& a, const Planned& b) {
        return std::tie(a.created, a.uid) < std::tie(b.created, b.uid);
    };
    planned_.insert(std::upper_bound(planned_.begin(), planned_.end(), made, older), made);
}

void PlannedGrants::erase(const std::string& uid) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(planned_, [&](const Planned& one) { return one.uid == uid; });
    served_.erase(uid);
}

void PlannedGrants::note_holders(const std::set<std::string>& uids) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(planned_, [&](const Planned& one) { return uids.contains(one.uid); });
    served_.insert(uids.begin(), uids.end());
    if (served_.size() > kMostPlanned) served_ = uids;
}

void PlannedGrants::set_refresh(Refresh refresh) {
    const std::scoped_lock lock(mutex_);
    refresh_ = std::move(refresh);
}

PlannedGrants::Planned* PlannedGrants::oldest(const std::string& resource, std::size_t size) {
    const auto found = std::ranges::find_if(planned_, [&](const Planned& one) {
        return std::ranges::any_of(
            one.asked, [&](const auto& asked) { return asks_for(asked, resource, size); });
    });
    return found == planned_.end() ? nullptr : &*found;
}

std::optional<std::vector<std::string>> PlannedGrants::choose(
    const sharing::Resource& resource, const Units& planned, std::span<const std::string> available,
    std::span<const std::string> must_include, std::size_t size) {
    const auto gpus = gpus_of_devices(resource);
    const auto gpu_of = [&](const std::string& id) {
        const auto found = gpus.find(std::string(gpu::device_of(id)));
        return found == gpus.end() ? std::string() : found->second;
    };
    std::vector<std::string> chosen(must_include.begin(), must_include.end());
    Units left = planned;
    const auto take = [&](const std::string& id) {
        const auto units = left.find(gpu_of(id));
        if (units == left.end() || units->second == 0) return false;
        --units->second;
        return true;
    };
    for (const std::string& id : must_include) {
        if (!take(id)) return std::nullopt;
    }
    std::vector<std::string> ids(available.begin(), available.end());
    std::ranges::sort(ids, {}, [](const std::string& id) {
        const auto view = gpu::split_device_id(id);
        return std::pair(view.replica, std::string(view.device));
    });
    for (const std::string& id : ids) {
        if (chosen.size() >= size) break;
        if (std::ranges::find(chosen, id) == chosen.end() && take(id)) chosen.push_back(id);
    }
    if (chosen.size() != size) return std::nullopt;
    return chosen;
}

std::vector<std::string> PlannedGrants::prefer(const sharing::Resource& resource,
                                               std::span<const std::string> available,
                                               std::span<const std::string> must_include,
                                               std::size_t size) {
    Refresh refresh;
    {
        const std::scoped_lock lock(mutex_);
        if (oldest(resource.name, size) == nullptr) refresh = refresh_;
    }
    if (refresh) refresh();
    const std::scoped_lock lock(mutex_);
    for (const Planned& one : planned_) {
        const auto units = one.units.find(resource.name);
        const bool asks = std::ranges::any_of(
            one.asked, [&](const auto& asked) { return asks_for(asked, resource.name, size); });
        if (!asks || units == one.units.end()) continue;
        if (auto chosen = choose(resource, units->second, available, must_include, size))
            return *std::move(chosen);
    }
    return {};
}

/// The oldest plan of this shape on these GPUs; where there is none, the oldest of the shape.
void PlannedGrants::note_granted(const sharing::Resource& resource,
                                 std::span<const std::string> ids) {
    const auto gpus = gpus_of_devices(resource);
    Units given;
    for (const std::string& id : ids) {
        const auto gpu = gpus.find(std::string(gpu::device_of(id)));
        if (gpu != gpus.end()) ++given[gpu->second];
    }
    const std::scoped_lock lock(mutex_);
    Planned* served = nullptr;
    for (Planned& one : planned_) {
        const auto units = one.units.find(resource.name);
        const bool asks = std::ranges::any_of(one.asked, [&](const auto& asked) {
            return asks_for(asked, resource.name, ids.size());
        });
        if (!asks || units == one.units.end()) continue;
        const bool covers = std::ranges::all_of(given, [&](const auto& gpu) {
            const auto planned = units->second.find(gpu.first);
            return planned != units->second.end() && planned->second >= gpu.second;
        });
        if (covers) {
            served = &one;
            break;
        }
        if (served == nullptr) served = &one;
    }
    if (served == nullptr) return;
    const auto asked = std::ranges::find_if(
        served->asked, [&](const auto& one) { return asks_for(one, resource.name, ids.size()); });
    served->asked.erase(asked);
    for (const auto& [gpu, count] : given) {
        auto& units = served->units[resource.name][gpu];
        units -= std::min(units, count);
    }
    if (!served->asked.empty()) return;
    served_.insert(served->uid);
    const std::string uid = served->uid;
    std::erase_if(planned_, [&](const Planned& one) { return one.uid == uid; });
}

std::size_t PlannedGrants::size() const {
    const std::scoped_lock lock(mutex_);
    return planned_.size();
}

}  // namespace aliquot::agent
