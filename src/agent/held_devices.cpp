// SPDX-License-Identifier: Apache-2.0
#include "agent/held_devices.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "gpu/replica_id.h"

namespace aliquot::agent {
namespace {

std::set<gpu::Uuid> devices_in(const gpu::Inventory& inventory) {
    std::set<gpu::Uuid> present;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        for (const gpu::MigDevice& device : gpu.mig_devices) present.insert(device.uuid);
    }
    return present;
}

/// Whether `id` is this device or a replica of it.
bool is_of(const std::string& id, const gpu::Uuid& device) {
    return gpu::device_of(id) == device.text;
}

std::string holder_of(const std::vector<kubelet::Holder>& holders, const gpu::Uuid& device) {
    for (const kubelet::Holder& holder : holders) {
        const bool holds = std::ranges::any_of(
            holder.ids, [&](const std::string& id) { return is_of(id, device); });
        if (holds) return holder.pod_namespace + "/" + holder.pod;
    }
    return {};
}

}  // namespace

void HeldDevices::amend(sharing::Offer& offer, const gpu::Inventory& inventory) {
    note_vanished(inventory);
    remember(offer);
    if (!gone_.empty() && clock_.now() >= next_question_) ask_who_holds();
    for (const auto& [uuid, gone] : gone_) {
        auto resource = std::ranges::find(offer.resources, gone.offered.resource.name,
                                          &sharing::Resource::name);
        if (resource == offer.resources.end()) {
            offer.resources.push_back(gone.offered.resource);
            resource = std::prev(offer.resources.end());
        }
        sharing::OfferedGpu device = gone.offered.device;
        device.mig->health = {};
        device.mig->health.state = gpu::Health::State::kUnhealthy;
        device.mig->health.reason = "the MIG device was destroyed";
        offer.remarks.push_back("MIG device " + device.index_text() + " (" + uuid.text +
                                ") was destroyed while " +
                                (gone.holder.empty() ? "a pod" : "pod " + gone.holder) +
                                " holds it: it is listed as Unhealthy until that pod ends");
        resource->gpus.push_back(std::move(device));
    }
    std::ranges::sort(offer.resources, {}, &sharing::Resource::name);
}

void HeldDevices::note_vanished(const gpu::Inventory& inventory) {
    const auto present = devices_in(inventory);
    std::erase_if(gone_, [&](const auto& entry) { return present.contains(entry.first); });
    for (auto& [uuid, offered] : offered_) {
        if (present.contains(uuid) || gone_.contains(uuid) || gone_.size() >= limits_.most)
            continue;
        gone_.emplace(uuid, Gone{.offered = offered, .since = clock_.now(), .holder = {}});
        next_question_ = clock_.now();
    }
}

void HeldDevices::remember(const sharing::Offer& offer) {
    offered_.clear();
    for (const sharing::Resource& resource : offer.resources) {
        sharing::Resource bare = resource;
        bare.gpus.clear();
        for (const sharing::OfferedGpu& device : resource.gpus) {
            if (device.mig) offered_[device.uuid()] = {.resource = bare, .device = device};
        }
    }
}

void HeldDevices::ask_who_holds() {
    next_question_ = clock_.now() + limits_.between_questions;
    const auto holders = questions_.list();
    for (auto entry = gone_.begin(); entry != gone_.end();) {
        auto& [uuid, gone] = *entry;
        bool held = clock_.now() - gone.since < limits_.without_answer;
        if (holders) {
            std::string holder = holder_of(*holders, uuid);
            held = !holder.empty() || questions_.just_granted(uuid);
            if (held && holder != gone.holder) {
                log::warning("mig.held", {{"device", uuid.text}, {"by", holder}});
            }
            gone.holder = std::move(holder);
        }
        if (!held) log::info("mig.released", {{"device", uuid.text}});
        entry = held ? std::next(entry) : gone_.erase(entry);
    }
}

}  // namespace aliquot::agent
