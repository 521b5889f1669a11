// SPDX-License-Identifier: Apache-2.0
#include "telemetry/claims.h"

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
void add_id(const std::string& id, const Scene& scene, Claim& claim) {
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
    claim.entitlement_ppm += percent != 0 ? percent * (kMillion / 100) : kMillion / replicas;
    if (limits != nullptr && limits->memory_bytes) {
        claim.memory_limit_bytes = claim.memory_limit_bytes.value_or(0) + *limits->memory_bytes;
    }
    claim.whole = !replica && replicas == 1;
    claim.ids.push_back(id);
}

void add_holders(const PartIdentity& part, const gpu::Gpu& gpu, const Scene& scene,
                 Claims& claims) {
    if (scene.holders == nullptr) return;
    for (const pods::Holder& holder : scene.holders->list) {
        Claim claim{.owner = holder.owner, .resource = holder.resource};
        for (const std::string& id : holder.ids) {
            if (stands_for(part, gpu, read_device_name(id).uuid)) add_id(id, scene, claim);
        }
        if (!claim.ids.empty()) claims.list.push_back(std::move(claim));
    }
}

void add_guards(const PartIdentity& part, const gpu::Gpu& gpu, const Scene& scene, Claims& claims) {
    if (scene.regions == nullptr) return;
    for (const guard_region::RegionStatus& region : *scene.regions) {
        const pods::Owner owner{.pod_namespace = region.pod_namespace,
                                .pod = region.pod,
                                .container = region.container};
        for (const guard_region::DeviceStatus& device : region.devices) {
            if (owner.pod.empty() || !stands_for(part, gpu, device.uuid)) continue;
            const auto claim = std::ranges::find_if(claims.list, [&](const Claim& one) {
                return same_container(one.owner, owner) &&
                       (one.resource == region.resource || one.resource.empty());
            });
            if (claim == claims.list.end()) continue;
            claim->guard = &device;
            if (device.limits.memory_bytes != 0) {
                claim->memory_limit_bytes = device.limits.memory_bytes;
            }
            if (device.limits.cap_ppm != 0) claim->entitlement_ppm = device.limits.cap_ppm;
        }
    }
}

/// The claim of a process's container; made when there is none.
Claim& claim_of(const pods::Owner& owner, Claims& claims) {
    Claim* of_pod = nullptr;
    unsigned of_pod_count = 0;
    for (Claim& one : claims.list) {
        if (!same_pod(one.owner, owner)) continue;
        if (!owner.container.empty() && one.owner.container == owner.container) return one;
        if (!owner.container_id.empty() && one.owner.container_id == owner.container_id) return one;
        if (!owner.container.empty() && !one.owner.container.empty()) continue;
        of_pod = &one;
        ++of_pod_count;
    }
    if (of_pod_count == 1) return *of_pod;
    claims.list.push_back({.owner = owner});
    return claims.list.back();
}

std::optional<std::uint64_t> cpu_ns_of(const pods::Belonging& belonging) {
    if (belonging.start_ticks == 0) return std::nullopt;  // its files were not read
    return belonging.cpu_ticks * (1'000'000'000 / os::kTicksPerSecond);
}

void add_processes(const PartIdentity& part, const gpu::Reading& reading,
                   const std::map<std::uint32_t, std::uint64_t>* uses, const Scene& scene,
                   Claims& claims) {
    claims.processes_known = reading.processes.has_value();
    claims.uses_known = uses != nullptr && claims.processes_known;
    if (!reading.processes) return;
    for (const gpu::MeteredProcess& seen : *reading.processes) {
        if (part.gpu_instance && seen.gpu_instance != part.gpu_instance) continue;
        const pods::Belonging belonging = scene.belonging(seen.pid);
        if (belonging.kind == pods::Belonging::Kind::kGone) continue;
        if (belonging.kind == pods::Belonging::Kind::kUnknown) {
            claims.processes_known = claims.uses_known = false;
        }
        std::uint64_t use = 0;
        if (uses != nullptr) {
            const auto found = uses->find(seen.pid);
            if (found != uses->end()) use = found->second;
        }
        ClaimedProcess process{.process = {.pid = seen.pid,
                                           .command = belonging.command,
                                           .memory_bytes = seen.memory_bytes,
                                           .cpu_ns = cpu_ns_of(belonging),
                                           .graphics = seen.graphics,
                                           .mps_client = seen.mps_client}};
        if (uses != nullptr) process.use_ns = use;
        if (belonging.kind != pods::Belonging::Kind::kPod) {
            claims.others_use_ns += use;
            claims.others.push_back(std::move(process));
            continue;
        }
        Claim& claim = claim_of(belonging.owner, claims);
        learn(claim.owner, belonging.owner);
        if (seen.memory_bytes) {
            claim.process_memory_bytes =
                claim.process_memory_bytes.value_or(0) + *seen.memory_bytes;
        }
        if (uses != nullptr) claim.process_use_ns = claim.process_use_ns.value_or(0) + use;
        claim.processes.push_back(std::move(process));
    }
}

/// The driver may tell once more of a process that it does not list any more.
void add_unlisted(const gpu::Reading& reading, const std::map<std::uint32_t, std::uint64_t>* uses,
                  Claims& claims) {
    if (uses == nullptr || !reading.processes) return;
    for (const auto& [pid, ns] : *uses) {
        const auto listed = std::ranges::find(*reading.processes, pid, &gpu::MeteredProcess::pid);
        if (listed == reading.processes->end()) claims.unlisted_uses.emplace(pid, ns);
    }
}

/// Only who is alone on a part has it whole.
void settle_whole(Claims& claims) {
    const auto holders =
        std::ranges::count_if(claims.list, [](const Claim& one) { return !one.ids.empty(); });
    const bool guests = claims.list.size() != static_cast<std::size_t>(holders);
    for (Claim& claim : claims.list) {
        claim.whole = claim.whole && holders == 1 && !guests && claims.others.empty();
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

Claims claims_on(const PartIdentity& part, const gpu::Gpu& gpu, const gpu::Reading& reading,
                 const std::map<std::uint32_t, std::uint64_t>* uses, const Scene& scene) {
    Claims claims;
    add_holders(part, gpu, scene, claims);
    add_processes(part, reading, uses, scene, claims);
    add_unlisted(reading, uses, claims);
    add_guards(part, gpu, scene, claims);
    settle_whole(claims);
    return claims;
}

bool same_container(const pods::Owner& a, const pods::Owner& b) {
    if (!same_pod(a, b)) return false;
    return a.container == b.container || a.container.empty() || b.container.empty();
}

}  // namespace aliquot::telemetry
