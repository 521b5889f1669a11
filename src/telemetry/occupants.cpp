// SPDX-License-Identifier: Apache-2.0
#include "telemetry/occupants.h"

#include <algorithm>

#include "os/process_stat.h"

namespace aliquot::telemetry {
namespace {

bool same_pod(const pods::Owner& a, const pods::Owner& b) {
    const bool same_name = a.pod_namespace == b.pod_namespace && a.pod == b.pod;
    // A uid that comes with two names was joined wrongly: nobody's metrics go to another pod for it.
    if (!a.pod_uid.empty() && !b.pod_uid.empty()) {
        return a.pod_uid == b.pod_uid && (same_name || a.pod.empty() || b.pod.empty());
    }
    return !a.pod.empty() && same_name;
}

/// What is known of either.
void learn(pods::Owner& owner, const pods::Owner& more) {
    const auto take = [](std::string& mine, const std::string& theirs) {
        if (mine.empty()) mine = theirs;
    };
    take(owner.pod_uid, more.pod_uid);
    take(owner.pod_namespace, more.pod_namespace);
    take(owner.pod, more.pod);
    take(owner.container, more.container);
    take(owner.container_id, more.container_id);
}

bool stands_for(const PartIdentity& part, const gpu::Gpu& gpu, std::string_view uuid) {
    if (uuid == gpu.uuid.text) return true;  // who holds the GPU holds all its parts
    return std::ranges::any_of(part.devices,
                               [&](const gpu::Uuid& one) { return one.text == uuid; });
}

/// What holding one id means.
void add_id(const std::string& id, const Scene& scene, Occupant& occupant) {
    const DeviceName name = read_device_name(id);
    const OfferedDevice* device = nullptr;
    if (scene.offered != nullptr) {
        const auto found = scene.offered->find(name.uuid);
        if (found != scene.offered->end()) device = &found->second;
    }
    const bool replica = id.size() != name.uuid.size();
    const unsigned replicas = device == nullptr ? 1 : std::max(device->replicas, 1U);
    const grant::Limits* limits = nullptr;
    if (device != nullptr) {
        limits =
            name.replica < device->shares.size() ? &device->shares[name.replica] : &device->limits;
    }
    const unsigned percent = limits == nullptr ? 0 : limits->compute_percent.value_or(0);
    occupant.entitlement_ppm += percent != 0 ? percent * (kMillion / 100) : kMillion / replicas;
    if (limits != nullptr && limits->memory_bytes) {
        occupant.memory_limit_bytes =
            occupant.memory_limit_bytes.value_or(0) + *limits->memory_bytes;
    }
    occupant.whole = !replica && replicas == 1;
    occupant.ids.push_back(id);
}

void add_holders(const PartIdentity& part, const gpu::Gpu& gpu, const Scene& scene,
                 Occupants& occupants) {
    if (scene.holders == nullptr) return;
    for (const pods::Holder& holder : scene.holders->list) {
        Occupant occupant{.owner = holder.owner, .resource = holder.resource};
        for (const std::string& id : holder.ids) {
            if (stands_for(part, gpu, read_device_name(id).uuid)) add_id(id, scene, occupant);
        }
        if (!occupant.ids.empty()) occupants.list.push_back(std::move(occupant));
    }
}

void add_guards(const PartIdentity& part, const gpu::Gpu& gpu, const Scene& scene,
                Occupants& occupants) {
    if (scene.regions == nullptr) return;
    for (const guard_region::RegionStatus& region : *scene.regions) {
        const pods::Owner owner{.pod_namespace = region.pod_namespace,
                                .pod = region.pod,
                                .container = region.container};
        for (const guard_region::DeviceStatus& device : region.devices) {
            if (owner.pod.empty() || !stands_for(part, gpu, device.uuid)) continue;
            const auto occupant = std::ranges::find_if(occupants.list, [&](const Occupant& one) {
                return same_container(one.owner, owner) &&
                       (one.resource == region.resource || one.resource.empty());
            });
            if (occupant == occupants.list.end()) continue;
            occupant->guard = &device;
            if (device.limits.memory_bytes != 0) {
                occupant->memory_limit_bytes = device.limits.memory_bytes;
            }
            if (device.limits.cap_ppm != 0) occupant->entitlement_ppm = device.limits.cap_ppm;
        }
    }
}

/// The occupant of a process's container; made when there is none.
Occupant& occupant_of(const pods::Owner& owner, Occupants& occupants) {
    Occupant* of_pod = nullptr;
    unsigned of_pod_count = 0;
    for (Occupant& one : occupants.list) {
        if (!same_pod(one.owner, owner)) continue;
        if (!owner.container.empty() && one.owner.container == owner.container) return one;
        if (!owner.container_id.empty() && one.owner.container_id == owner.container_id) return one;
        if (!owner.container.empty() && !one.owner.container.empty()) continue;
        of_pod = &one;
        ++of_pod_count;
    }
    if (of_pod_count == 1) return *of_pod;
    occupants.list.push_back({.owner = owner});
    return occupants.list.back();
}

std::optional<std::uint64_t> cpu_ns_of(const pods::Belonging& belonging) {
    if (belonging.start_ticks == 0) return std::nullopt;  // its files were not read
    return belonging.cpu_ticks * (1'000'000'000 / os::kTicksPerSecond);
}

void add_processes(const PartIdentity& part, const gpu::Reading& reading,
                   const std::map<std::uint32_t, std::uint64_t>* uses, const Scene& scene,
                   Occupants& occupants) {
    occupants.processes_known = reading.processes.has_value();
    occupants.uses_known = uses != nullptr && occupants.processes_known;
    if (!reading.processes) return;
    for (const gpu::MeteredProcess& seen : *reading.processes) {
        if (part.gpu_instance && seen.gpu_instance != part.gpu_instance) continue;
        const pods::Belonging belonging = scene.belonging(seen.pid);
        if (belonging.kind == pods::Belonging::Kind::kGone) continue;
        if (belonging.kind == pods::Belonging::Kind::kUnknown) {
            occupants.processes_known = occupants.uses_known = false;
        }
        std::uint64_t use = 0;
        if (uses != nullptr) {
            const auto found = uses->find(seen.pid);
            if (found != uses->end()) use = found->second;
        }
        MeteredProcess process{.process = {.pid = seen.pid,
                                           .command = belonging.command,
                                           .memory_bytes = seen.memory_bytes,
                                           .cpu_ns = cpu_ns_of(belonging),
                                           .graphics = seen.graphics,
                                           .mps_client = seen.mps_client}};
        if (uses != nullptr) process.use_ns = use;
        if (belonging.kind != pods::Belonging::Kind::kPod) {
            occupants.others_use_ns += use;
            occupants.others.push_back(std::move(process));
            continue;
        }
        Occupant& occupant = occupant_of(belonging.owner, occupants);
        learn(occupant.owner, belonging.owner);
        if (seen.memory_bytes) {
            occupant.process_memory_bytes =
                occupant.process_memory_bytes.value_or(0) + *seen.memory_bytes;
        }
        if (uses != nullptr) occupant.process_use_ns = occupant.process_use_ns.value_or(0) + use;
        occupant.processes.push_back(std::move(process));
    }
}

/// The driver may tell once more of a process that it does not list any more.
void add_unlisted(const gpu::Reading& reading, const std::map<std::uint32_t, std::uint64_t>* uses,
                  Occupants& occupants) {
    if (uses == nullptr || !reading.processes) return;
    for (const auto& [pid, ns] : *uses) {
        const auto listed = std::ranges::find(*reading.processes, pid, &gpu::MeteredProcess::pid);
        if (listed == reading.processes->end()) occupants.unlisted_uses.emplace(pid, ns);
    }
}

/// Only who is alone on a part has it whole.
void settle_whole(Occupants& occupants) {
    const auto holders =
        std::ranges::count_if(occupants.list, [](const Occupant& one) { return !one.ids.empty(); });
    const bool guests = occupants.list.size() != static_cast<std::size_t>(holders);
    for (Occupant& occupant : occupants.list) {
        occupant.whole = occupant.whole && holders == 1 && !guests && occupants.others.empty();
    }
}

}  // namespace

std::vector<PartIdentity> parts_of(const gpu::Gpu& gpu) {
    std::vector<PartIdentity> parts;
    if (!gpu.mig_enabled) return {{.devices = {gpu.uuid}}};
    for (const gpu::MigDevice& device : gpu.mig_devices) {
        auto part = std::ranges::find(parts, std::optional(device.gpu_instance),
                                      &PartIdentity::gpu_instance);
        if (part == parts.end()) {
            // A GPU instance cut into several compute instances is named by the first one's
            // profile, without the compute part: "1c.3g.20gb" lies in a "3g.20gb".
            const std::size_t dot = device.profile.find("c.");
            parts.push_back({.gpu_instance = device.gpu_instance,
                             .profile = dot == std::string::npos ? device.profile
                                                                 : device.profile.substr(dot + 2),
                             .slices = std::max(device.gpu_slices, 1U)});
            part = std::prev(parts.end());
        }
        part->devices.push_back(device.uuid);
    }
    std::ranges::sort(parts, {}, &PartIdentity::gpu_instance);
    return parts;
}

Occupants occupants_on(const PartIdentity& part, const gpu::Gpu& gpu, const gpu::Reading& reading,
                       const std::map<std::uint32_t, std::uint64_t>* uses, const Scene& scene) {
    Occupants occupants;
    add_holders(part, gpu, scene, occupants);
    add_processes(part, reading, uses, scene, occupants);
    add_unlisted(reading, uses, occupants);
    add_guards(part, gpu, scene, occupants);
    settle_whole(occupants);
    return occupants;
}

bool same_container(const pods::Owner& a, const pods::Owner& b) {
    if (!same_pod(a, b)) return false;
    return a.container == b.container || a.container.empty() || b.container.empty();
}

}  // namespace aliquot::telemetry
