// SPDX-License-Identifier: Apache-2.0
#include "controller/idle_sight.h"

#include <algorithm>

namespace aliquot::controller {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::chrono::minutes kFresh{1};  // an agent that is silent for longer tells nothing
constexpr std::chrono::minutes kForgotten{10};

/// Without use, as a tenant's counters have it; negative: it has just begun.
seconds idle_time(const telemetry::Tenant& tenant, seconds min_run) {
    const auto whole = [](std::uint64_t ns) {
        return std::chrono::duration_cast<seconds>(nanoseconds(static_cast<std::int64_t>(ns)));
    };
    return std::min(whole(*tenant.idle_ns), whole(tenant.held_ns) - min_run);
}

}  // namespace

void IdleSight::take(const telemetry::Snapshot& snapshot, Steady::time_point now) {
    Node node{.told = now, .pods = {}};
    for (const telemetry::Device& device : snapshot.devices) {
        const bool answers = device.problem.empty() && device.read_at.has_value();
        for (const telemetry::Part& part : device.parts) {
            for (const telemetry::Tenant& tenant : part.tenants) {
                if (tenant.ended || tenant.resource.empty() || tenant.owner.pod_uid.empty())
                    continue;
                const auto [found, is_new] = node.pods.try_emplace(tenant.owner.pod_uid);
                Use& use = found->second;
                if (is_new) {
                    use.pod = {.space = tenant.owner.pod_namespace,
                               .name = tenant.owner.pod,
                               .uid = tenant.owner.pod_uid,
                               .idle = seconds::max()};
                }
                use.is_known = use.is_known && answers && tenant.idle_ns.has_value() &&
                               tenant.source != telemetry::Source::kNone;
                if (use.is_known)
                    use.pod.idle = std::min(use.pod.idle, idle_time(tenant, min_run_));
            }
        }
    }
    const std::scoped_lock lock(mutex_);
    nodes_[snapshot.node] = std::move(node);
    std::erase_if(nodes_, [&](const auto& one) { return now - one.second.told > kForgotten; });
}

bool IdleSight::is_fresh(const Node& node, Steady::time_point now) const {
    return now - node.told <= kFresh;
}

std::vector<IdleSight::IdlePod> IdleSight::idle_for(seconds least, Steady::time_point now) const {
    std::vector<IdlePod> idle;
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, node] : nodes_) {
        if (!is_fresh(node, now)) continue;
        for (const auto& [uid, use] : node.pods) {
            if (use.is_known && use.pod.idle >= least) idle.push_back(use.pod);
        }
    }
    return idle;
}

std::optional<seconds> IdleSight::idle_of(const std::set<std::string>& uids,
                                          Steady::time_point now) const {
    std::map<std::string, seconds> known;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [name, node] : nodes_) {
            if (!is_fresh(node, now)) continue;
            for (const auto& [uid, use] : node.pods) {
                if (use.is_known && uids.contains(uid)) known[uid] = use.pod.idle;
            }
        }
    }
    if (uids.empty() || known.size() != uids.size()) return std::nullopt;
    return std::ranges::min_element(known, {}, [](const auto& one) { return one.second; })->second;
}

}  // namespace aliquot::controller
