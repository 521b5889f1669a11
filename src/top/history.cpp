// SPDX-License-Identifier: Apache-2.0
#include "top/history.h"

#include <algorithm>

#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

std::optional<std::uint64_t> part_of(std::optional<std::uint64_t> used,
                                     std::optional<std::uint64_t> most) {
    if (!used || !most || *most == 0) return std::nullopt;
    return whole_number(static_cast<double>(*used) / static_cast<double>(*most) *
                        telemetry::kMillion);
}

}  // namespace

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

void History::note(const std::string& key, std::optional<std::uint64_t> ppm,
                   std::optional<std::uint64_t> memory_ppm) {
    Line& line = lines_[key];
    line.seen = round_;
    for (Values* const values : {&line.values, &line.memory}) {
        if (values->size() == kMost) values->erase(values->begin());
    }
    line.values.push_back(ppm);
    line.memory.push_back(memory_ppm);
}

void History::count(std::map<std::string, Counter>& counters, const std::string& key,
                    std::optional<std::uint64_t> ns, telemetry::Moment at) {
    if (!ns) return;
    Counter& known = counters[key];
    const bool later = known.at > telemetry::Moment{} && at > known.at;
    const auto passed =
        later ? std::chrono::duration_cast<std::chrono::nanoseconds>(at - known.at).count() : 0;
    known.ppm.reset();
    if (known.seen != 0 && passed > 0 && *ns >= known.ns) {
        const double part = static_cast<double>(*ns - known.ns) / static_cast<double>(passed);
        known.ppm = whole_number(part * telemetry::kMillion);
    }
    known.ns = *ns;
    known.at = at;
    known.seen = round_;
}

void History::note_processes(const std::string& part,
                             const std::vector<telemetry::Process>& processes,
                             telemetry::Moment at) {
    for (const telemetry::Process& process : processes)
        count(cores_, part + "/pid " + std::to_string(process.pid), process.cpu_ns, at);
}

void History::note_part(const telemetry::Device& device, const telemetry::Part& part,
                        telemetry::Moment at) {
    const std::string of_part = part_key(device, part);
    const auto total = memory_total_of(device);
    // Instances do not tell how large they are in a snapshot.
    const auto whole = part.gpu_instance ? std::nullopt : total;
    if (part.gpu_instance) note(of_part, part.total.utilization_ppm, std::nullopt);
    for (const telemetry::Tenant& tenant : part.tenants) {
        if (tenant.ended) continue;
        const std::string key = tenant_key(device, part, tenant);
        const auto most = tenant.memory_limit_bytes ? tenant.memory_limit_bytes : whole;
        note(key, tenant.amounts.utilization_ppm, part_of(tenant.amounts.memory_bytes, most));
        count(throttles_, key, tenant.throttled_ns, at);
        note_processes(of_part, tenant.processes, at);
    }
    note_processes(of_part, part.others, at);
}

void History::note_node(const telemetry::Snapshot& snapshot) {
    const Sums sums = sums_of(snapshot);
    note(node_key(snapshot), sums.utilization_ppm(),
         part_of(sums.memory_used_bytes, sums.memory_total_bytes));
    for (const telemetry::Device& device : snapshot.devices) {
        note(gpu_key(device), busy_of(device),
             part_of(device.total.memory_bytes, memory_total_of(device)));
        for (const telemetry::Part& part : device.parts) note_part(device, part, snapshot.at);
    }
}

/// An agent that is silent for a while takes no history away.
void History::keep(const telemetry::Snapshot& snapshot) {
    const auto touch = [&](const std::string& key) {
        if (const auto line = lines_.find(key); line != lines_.end()) line->second.seen = round_;
        if (const auto known = throttles_.find(key); known != throttles_.end())
            known->second.seen = round_;
    };
    const auto touch_processes = [&](const std::string& part,
                                     const std::vector<telemetry::Process>& processes) {
        for (const telemetry::Process& process : processes) {
            const auto core = cores_.find(part + "/pid " + std::to_string(process.pid));
            if (core != cores_.end()) core->second.seen = round_;
        }
    };
    touch(node_key(snapshot));
    for (const telemetry::Device& device : snapshot.devices) {
        touch(gpu_key(device));
        for (const telemetry::Part& part : device.parts) {
            touch(part_key(device, part));
            touch_processes(part_key(device, part), part.others);
            for (const telemetry::Tenant& tenant : part.tenants) {
                touch(tenant_key(device, part, tenant));
                touch_processes(part_key(device, part), tenant.processes);
            }
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
    std::erase_if(cores_, [&](const auto& known) { return known.second.seen != round_; });
}

const History::Values& History::of(const std::string& key) const {
    static const Values kNothing;
    const auto found = lines_.find(key);
    return found == lines_.end() ? kNothing : found->second.values;
}

const History::Values& History::memory_of(const std::string& key) const {
    static const Values kNothing;
    const auto found = lines_.find(key);
    return found == lines_.end() ? kNothing : found->second.memory;
}

std::optional<std::uint64_t> History::cpu_ppm(const std::string& key) const {
    const auto found = cores_.find(key);
    return found == cores_.end() ? std::nullopt : found->second.ppm;
}

std::optional<std::uint64_t> History::throttled_ppm(const std::string& key) const {
    const auto found = throttles_.find(key);
    if (found == throttles_.end() || !found->second.ppm) return std::nullopt;
    // Several lanes of a container may wait at once.
    return std::min(*found->second.ppm, telemetry::kMillion);
}

}  // namespace aliquot::top
