// SPDX-License-Identifier: Apache-2.0
#include "top/history.h"

#include <algorithm>

#include "top/sums.h"

namespace aliquot::top {

std::string node_key(const telemetry::Snapshot& node) { return "n/" + node.node; }

std::string gpu_key(const telemetry::Device& device) {
    const std::string& uuid = device.gpu.uuid.text;
    return "g/" + (uuid.empty() ? "#" + std::to_string(device.gpu.index) : uuid);
}

std::string part_key(const telemetry::Device& device, const telemetry::Part& part) {
    return gpu_key(device) + "/" + (part.gpu_instance ? std::to_string(*part.gpu_instance) : "");
}

std::string tenant_key(const telemetry::Device& device, const telemetry::Part& part,
                       const telemetry::Tenant& tenant) {
    const pods::Owner& owner = tenant.owner;
    return part_key(device, part) + "/" + owner.pod_uid + "/" + owner.pod_namespace + "/" +
           owner.pod + "/" + owner.container + "/" + tenant.resource;
}

void History::note(const std::string& key, std::optional<std::uint64_t> ppm) {
    Line& line = lines_[key];
    line.seen = round_;
    if (line.values.size() == kMost) line.values.erase(line.values.begin());
    line.values.push_back(ppm);
}

void History::note_tenant(const std::string& key, const telemetry::Tenant& tenant,
                          telemetry::Moment at) {
    if (!tenant.throttled_ns) return;
    Throttle& known = throttles_[key];
    const bool later = known.at > telemetry::Moment{} && at > known.at;
    const auto passed =
        later ? std::chrono::duration_cast<std::chrono::nanoseconds>(at - known.at).count() : 0;
    known.ppm.reset();
    if (known.seen != 0 && passed > 0 && *tenant.throttled_ns >= known.ns) {
        const double part =
            static_cast<double>(*tenant.throttled_ns - known.ns) / static_cast<double>(passed);
        // Several lanes of a container may wait at once.
        known.ppm = static_cast<std::uint64_t>(std::min(part, 1.0) * telemetry::kMillion);
    }
    known.ns = *tenant.throttled_ns;
    known.at = at;
    known.seen = round_;
}

void History::note_node(const telemetry::Snapshot& snapshot) {
    note(node_key(snapshot), sums_of(snapshot).utilization_ppm());
    for (const telemetry::Device& device : snapshot.devices) {
        note(gpu_key(device), busy_of(device));
        for (const telemetry::Part& part : device.parts) {
            if (part.gpu_instance) note(part_key(device, part), part.total.utilization_ppm);
            for (const telemetry::Tenant& tenant : part.tenants) {
                if (tenant.ended) continue;
                const std::string key = tenant_key(device, part, tenant);
                note(key, tenant.amounts.utilization_ppm);
                note_tenant(key, tenant, snapshot.at);
            }
        }
    }
}

/// An agent that is silent for a while takes no history away.
void History::keep(const telemetry::Snapshot& snapshot) {
    const auto touch = [&](const std::string& key) {
        if (const auto line = lines_.find(key); line != lines_.end()) line->second.seen = round_;
        if (const auto known = throttles_.find(key); known != throttles_.end())
            known->second.seen = round_;
    };
    touch(node_key(snapshot));
    for (const telemetry::Device& device : snapshot.devices) {
        touch(gpu_key(device));
        for (const telemetry::Part& part : device.parts) {
            touch(part_key(device, part));
            for (const telemetry::Tenant& tenant : part.tenants)
                touch(tenant_key(device, part, tenant));
        }
    }
}

void History::add(const ClusterSnapshot& cluster) {
    ++round_;
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        auto& seen = seen_[agent.address];
        const std::pair now{agent.snapshot->sequence, agent.snapshot->at};
        if (seen == now) {
            keep(*agent.snapshot);
        } else {
            note_node(*agent.snapshot);
            seen = now;
        }
    }
    std::erase_if(lines_, [&](const auto& line) { return line.second.seen != round_; });
    std::erase_if(throttles_, [&](const auto& known) { return known.second.seen != round_; });
}

const History::Values& History::of(const std::string& key) const {
    static const Values kNothing;
    const auto found = lines_.find(key);
    return found == lines_.end() ? kNothing : found->second.values;
}

std::optional<std::uint64_t> History::throttled_ppm(const std::string& key) const {
    const auto found = throttles_.find(key);
    return found == throttles_.end() ? std::nullopt : found->second.ppm;
}

}  // namespace aliquot::top
