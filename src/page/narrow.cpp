// SPDX-License-Identifier: Apache-2.0
#include "page/narrow.h"

#include <algorithm>
#include <memory>

namespace aliquot::page {
namespace {

using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;

/// The device as its tenant of that namespace sees it; empty: it has none there.
std::optional<Device> device_of(const Device& whole, const std::string& pod_namespace) {
    const auto is_theirs = [&](const Tenant& tenant) {
        return tenant.owner.pod_namespace == pod_namespace;
    };
    const bool any = std::any_of(whole.parts.begin(), whole.parts.end(), [&](const Part& part) {
        return std::any_of(part.tenants.begin(), part.tenants.end(), is_theirs);
    });
    if (!any) return std::nullopt;
    Device device = whole;
    for (Part& part : device.parts) {
        std::erase_if(part.tenants, [&](const Tenant& tenant) { return !is_theirs(tenant); });
        part.others.clear();
    }
    // Of MIG only their own instances: the others' profiles are the others' business.
    std::erase_if(device.parts,
                  [](const Part& part) { return part.gpu_instance && part.tenants.empty(); });
    std::erase_if(device.gpu.mig_devices, [&](const gpu::MigDevice& one) {
        return std::none_of(device.parts.begin(), device.parts.end(), [&](const Part& part) {
            return part.gpu_instance == one.gpu_instance;
        });
    });
    return device;
}

}  // namespace

Sight only_of(const Sight& sight, const std::string& pod_namespace) {
    Sight seen{.title = sight.title, .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    seen.cluster.now = sight.cluster.now;
    for (const top::Agent& agent : sight.cluster.agents) {
        if (!agent.snapshot) continue;
        auto narrowed = std::make_shared<Snapshot>();
        narrowed->at = agent.snapshot->at;
        narrowed->sequence = agent.snapshot->sequence;
        narrowed->node = agent.snapshot->node;
        narrowed->driver_version = agent.snapshot->driver_version;
        for (const Device& device : agent.snapshot->devices) {
            if (auto theirs = device_of(device, pod_namespace)) {
                narrowed->devices.push_back(*std::move(theirs));
            }
        }
        if (narrowed->devices.empty()) continue;
        seen.cluster.agents.push_back(
            {.address = agent.address, .snapshot = std::move(narrowed), .problem = agent.problem});
    }
    for (const PodSeen& pod : sight.pods) {
        if (pod.pod_namespace == pod_namespace) seen.pods.push_back(pod);
    }
    return seen;
}

}  // namespace aliquot::page
