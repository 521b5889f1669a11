// SPDX-License-Identifier: Apache-2.0
#include "sharing/rollout.h"

#include <algorithm>
#include <tuple>

#include "gpu/replica_id.h"

namespace aliquot::sharing {
namespace {

Resource bare(const Resource& resource) {
    Resource copy = resource;
    copy.gpus.clear();
    return copy;
}

void make_unhealthy(gpu::Health& health, std::string reason, std::string advice = {}) {
    health = {.state = gpu::Health::State::kUnhealthy,
              .reason = std::move(reason),
              .advice = std::move(advice)};
}

/// A device as some offer has it.
struct Place {
    const Resource* resource = nullptr;
    const OfferedGpu* device = nullptr;
};

/// One round for all devices.
class Round {
public:
    Round(const Offer& wanted, const gpu::Inventory& inventory, const RolloutFacts& facts)
        : inventory_(inventory), facts_(facts) {
        rollout_.offer.remarks = wanted.remarks;
        for (const Resource& resource : wanted.resources) {
            resources_.emplace(resource.name, bare(resource));
            for (const OfferedGpu& device : resource.gpus) {
                wanted_[device.uuid()] = {.resource = &resource, .device = &device};
                gpu_of_[device.uuid()] = device.gpu.uuid;
            }
        }
        for (const auto& [uuid, served] : facts.served) gpu_of_[uuid] = served.device.gpu.uuid;
        note_inventory();
        for (const DeviceHold& hold : facts.holds) {
            const gpu::Uuid uuid{std::string(gpu::device_of(hold.id))};
            if (gpu_of_.contains(uuid)) holds_[uuid].push_back(&hold);
        }
    }

    Rollout decide() && {
        std::set<gpu::Uuid> all;
        for (const auto& one : wanted_) all.insert(one.first);
        for (const auto& one : facts_.served) all.insert(one.first);
        for (const auto& one : holds_) all.insert(one.first);
        for (const gpu::Uuid& uuid : all) decide_one(uuid);
        for (auto& entry : resources_) {
            if (entry.second.gpus.empty()) continue;
            std::ranges::sort(entry.second.gpus, {}, [](const OfferedGpu& one) {
                return std::tuple(one.gpu.index, one.mig ? one.mig->index : 0, one.frozen);
            });
            rollout_.offer.resources.push_back(std::move(entry.second));
        }
        std::ranges::sort(rollout_.waiting, {}, [](const WaitingDevice& one) {
            return std::tuple(one.gpu_index, one.index, one.uuid);
        });
        for (const WaitingDevice& one : rollout_.waiting) {
            rollout_.offer.remarks.push_back(to_text(one));
        }
        return std::move(rollout_);
    }

private:
    void note_inventory() {
        for (const gpu::Gpu& gpu : inventory_.gpus) {
            gpu_of_[gpu.uuid] = gpu.uuid;
            for (const gpu::MigDevice& mig : gpu.mig_devices) gpu_of_[mig.uuid] = gpu.uuid;
        }
    }

    void decide_one(const gpu::Uuid& uuid) {
        const auto found = facts_.served.find(uuid);
        if (found == facts_.served.end()) return begin(uuid);
        go_on(uuid, found->second);
    }

    /// A device of which nothing is known to have been promised.
    void begin(const gpu::Uuid& uuid) {
        const auto holds = holds_of(uuid);
        const auto wanted = wanted_.find(uuid);
        const bool has_place = wanted != wanted_.end();
        // The id of a whole device tells all that its holder was promised, that of a share does not.
        const bool recordable =
            facts_.record_problem.empty() || (has_place && wanted->second.device->replicas == 1);
        if (has_place && facts_.holds_problem.empty() && recordable && !is_overlapped(uuid)) {
            const bool known = std::ranges::all_of(holds, [&](const DeviceHold* hold) {
                return is_of(*hold, wanted->second.resource->name, *wanted->second.device);
            });
            if (holds.empty() || (known && !facts_.records_lost)) return take(wanted->second);
        }
        if (holds.empty() && !has_place) return;
        freeze(uuid, holds);
        rollout_.records_lost = rollout_.records_lost || facts_.records_lost || !holds.empty();
        wait(uuid, "", holds, why_nothing_changes());
    }

    void go_on(const gpu::Uuid& uuid, const ServedDevice& served) {
        const auto wanted = wanted_.find(uuid);
        const bool has_place = wanted != wanted_.end();
        std::vector<const DeviceHold*> known;
        std::vector<const DeviceHold*> foreign;
        for (const DeviceHold* hold : holds_of(uuid)) {
            (is_of(*hold, served.resource.name, served.device) ? known : foreign).push_back(hold);
        }
        const bool stays =
            has_place && foreign.empty() && !is_overlapped(uuid) &&
            keeps_promises(served, wanted->second.resource->name, *wanted->second.device);
        if (stays && (facts_.record_problem.empty() ||
                      is_same_service({{uuid, served}}, {{uuid, served_at(wanted->second)}}))) {
            return take(wanted->second);
        }
        if (stays) {
            keep(served, std::nullopt);
            return wait(uuid, to_text(served), {}, facts_.record_problem);
        }
        const std::string& why = why_nothing_changes();
        if (!known.empty() || !foreign.empty()) {
            std::set<unsigned> replicas;
            for (const DeviceHold* hold : known) {
                if (!hold->ending) replicas.insert(gpu::split_device_id(hold->id).replica);
            }
            keep(served, std::move(replicas));
            freeze(uuid, foreign);
            known.insert(known.end(), foreign.begin(), foreign.end());
            return wait(uuid, to_text(served), known, why);
        }
        if (!why.empty()) {
            keep(served, std::nullopt);
            return wait(uuid, to_text(served), {}, why);
        }
        const bool gone = refreshed(served).second;
        if (!gone && !facts_.withdrawn.contains(uuid)) return close(uuid, served);
        if (has_place && !is_overlapped(uuid)) take(wanted->second);
        rollout_.switched.insert(uuid);
    }

    [[nodiscard]] const std::string& why_nothing_changes() const {
        return facts_.holds_problem.empty() ? facts_.record_problem : facts_.holds_problem;
    }

    [[nodiscard]] std::vector<const DeviceHold*> holds_of(const gpu::Uuid& uuid) const {
        const auto found = holds_.find(uuid);
        return found == holds_.end() ? std::vector<const DeviceHold*>() : found->second;
    }

    static bool is_of(const DeviceHold& hold, const std::string& resource,
                      const OfferedGpu& device) {
        return hold.resource == resource && replica_of(device, hold.id).has_value();
    }

    /// Whether something on the same hardware is in the way: of a GPU its MIG devices, of a MIG
    /// device its GPU as a whole.
    [[nodiscard]] bool is_overlapped(const gpu::Uuid& uuid) const {
        const gpu::Uuid gpu = gpu_of_.at(uuid);
        const bool whole = gpu == uuid;
        return std::ranges::any_of(gpu_of_, [&](const auto& entry) {
            const gpu::Uuid& other = entry.first;
            if (entry.second != gpu || other == uuid || (other == gpu) == whole) return false;
            if (!holds_of(other).empty()) return true;
            const auto served = facts_.served.find(other);
            if (served == facts_.served.end()) return false;
            const bool goes = facts_.withdrawn.contains(other) && why_nothing_changes().empty();
            return !goes && !refreshed(served->second).second;
        });
    }

    /// The device with what the driver says of it now, and whether it is gone.
    [[nodiscard]] std::pair<OfferedGpu, bool> refreshed(const ServedDevice& served) const {
        OfferedGpu device = served.device;
        device.only.reset();
        const gpu::Gpu* const gpu = inventory_.find(device.gpu.uuid);
        if (gpu == nullptr) {
            make_unhealthy(device.gpu.health, "the driver does not list this GPU any more");
            return {std::move(device), true};
        }
        device.gpu = *gpu;
        device.gpu.mig_devices.clear();
        if (!device.mig) {
            const bool cut = std::ranges::any_of(
                gpu->mig_devices, [&](const auto& mig) { return wanted_.contains(mig.uuid); });
            if (cut) make_unhealthy(device.gpu.health, "the GPU was cut into MIG devices");
            return {std::move(device), false};
        }
        const auto mig =
            std::ranges::find(gpu->mig_devices, device.mig->uuid, &gpu::MigDevice::uuid);
        const bool gone = mig == gpu->mig_devices.end();
        if (!gone) device.mig = *mig;
        if (gone) make_unhealthy(device.mig->health, "the MIG device was destroyed");
        return {std::move(device), gone};
    }

    static ServedDevice served_at(const Place& place) {
        return {.resource = bare(*place.resource), .device = *place.device};
    }

    void take(const Place& place) {
        resources_.at(place.resource->name).gpus.push_back(*place.device);
        const gpu::Uuid& uuid = place.device->uuid();
        const auto before = facts_.served.find(uuid);
        ServedDevice now = served_at(place);
        if (before != facts_.served.end() &&
            !keeps_promises(before->second, now.resource.name, now.device)) {
            rollout_.switched.insert(uuid);
        }
        rollout_.served.insert_or_assign(uuid, std::move(now));
    }

    /// only   empty optional: all of it
    void keep(const ServedDevice& served, std::optional<std::set<unsigned>> only) {
        OfferedGpu device = refreshed(served).first;
        rollout_.served.insert_or_assign(
            device.uuid(), ServedDevice{.resource = served.resource, .device = device});
        device.only = std::move(only);
        resources_.try_emplace(served.resource.name, served.resource)
            .first->second.gpus.push_back(std::move(device));
    }

    void close(const gpu::Uuid& uuid, const ServedDevice& served) {
        keep(served, std::set<unsigned>());
        rollout_.closing.insert(uuid);
    }

    /// Lists what is held by no promise that we know.
    void freeze(const gpu::Uuid& uuid, const std::vector<const DeviceHold*>& holds) {
        std::map<std::string, OfferedGpu> devices;  // by resource
        for (const DeviceHold* hold : holds) {
            const gpu::DeviceIdView view = gpu::split_device_id(hold->id);
            if (!view.valid || view.replica >= kMostReplicas) continue;
            OfferedGpu& device = devices[hold->resource];
            const bool is_share = view.device.size() != hold->id.size();
            // One id without replicas, else as many as the highest one needs to be named.
            if (is_share) device.replicas = std::max(device.replicas, view.replica + 2);
            if (!device.only) device.only.emplace();
            device.only->insert(view.replica);
        }
        for (auto& [resource, device] : devices) {
            device.frozen = true;
            describe(uuid, device);
            resources_.try_emplace(resource, Resource{.name = resource, .shared = true})
                .first->second.gpus.push_back(std::move(device));
        }
    }

    /// What the driver knows of it.
    void describe(const gpu::Uuid& uuid, OfferedGpu& device) const {
        if (const gpu::Gpu* const gpu = inventory_.find(gpu_of_.at(uuid))) {
            device.gpu = *gpu;
            device.gpu.mig_devices.clear();
            const auto mig = std::ranges::find(gpu->mig_devices, uuid, &gpu::MigDevice::uuid);
            if (mig != gpu->mig_devices.end()) device.mig = *mig;
        }
        const bool whole = gpu_of_.at(uuid) == uuid;
        device.gpu.uuid = gpu_of_.at(uuid);
        if (!whole && !device.mig) device.mig = gpu::MigDevice{.uuid = uuid};
        make_unhealthy(device.gpu.health,
                       "a pod holds a part of it by a configuration that is not known any more",
                       "it is offered again when that pod has ended");
    }

    void wait(const gpu::Uuid& uuid, std::string served,
              const std::vector<const DeviceHold*>& holds, const std::string& why) {
        std::set<std::string> pods;
        for (const DeviceHold* hold : holds) {
            if (!hold->pod.empty()) pods.insert(hold->pod);
        }
        OfferedGpu device;
        const auto known = facts_.served.find(uuid);
        const auto wanted = wanted_.find(uuid);
        if (known != facts_.served.end()) {
            device = refreshed(known->second).first;
        } else if (wanted != wanted_.end()) {
            device = *wanted->second.device;
        } else {
            describe(uuid, device);
        }
        WaitingDevice waiting{.uuid = uuid,
                              .gpu_index = device.gpu.index,
                              .index = device.index_text(),
                              .served = std::move(served),
                              .pods = {pods.begin(), pods.end()},
                              .why = why};
        if (device.mig && !device.mig->health.ok() && waiting.why.empty()) {
            waiting.why = device.mig->health.reason;
        } else if (holds.empty() && waiting.why.empty()) {
            waiting.why = "what overlaps it on the same GPU is held";
        }
        rollout_.waiting.push_back(std::move(waiting));
    }

    static constexpr unsigned kMostReplicas = 4096;

    const gpu::Inventory& inventory_;
    const RolloutFacts& facts_;
    std::map<gpu::Uuid, Place> wanted_;
    std::map<gpu::Uuid, gpu::Uuid> gpu_of_;  // the GPU of each device that is known
    std::map<gpu::Uuid, std::vector<const DeviceHold*>> holds_;
    std::map<std::string, Resource> resources_;
    Rollout rollout_;
};

}  // namespace

Rollout roll_out(const Offer& wanted, const gpu::Inventory& inventory, const RolloutFacts& facts) {
    return Round(wanted, inventory, facts).decide();
}

}  // namespace aliquot::sharing
