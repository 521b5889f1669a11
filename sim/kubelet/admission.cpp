// SPDX-License-Identifier: Apache-2.0
//
// The half of Devices that admits pods: which devices, and what the plugin says to them.
#include <algorithm>
#include <utility>

#include "sim/kubelet/devices.h"
#include "sim/kubelet/grant_merge.h"

namespace aliquot::sim {
namespace {

constexpr auto kPreStartTimeout = std::chrono::seconds(30);

/// Every failure of admission ends the pod for good, in these words.
Error unexpected(const Error& error) {
    return {error.code, "UnexpectedAdmissionError: Allocate failed due to " + error.message +
                            ", which is unexpected"};
}

Error unavailable(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }

Ids minus(const Ids& from, const Ids& what) {
    Ids result;
    std::ranges::set_difference(from, what, std::inserter(result, result.end()));
    return result;
}

Ids intersection(const Ids& left, const Ids& right) {
    Ids result;
    std::ranges::set_intersection(left, right, std::inserter(result, result.end()));
    return result;
}

Ids united(const Ids& left, const Ids& right) {
    Ids result = left;
    result.insert(right.begin(), right.end());
    return result;
}

}  // namespace

Result<std::vector<ContainerGrant>> Devices::admit(const PodRequest& pod) {
    const std::lock_guard admission(admission_mutex_);
    {
        const Lock lock(mutex_);
        if (!running_) return unavailable("kubelet is not running");
        const bool known = accounts_.pods().contains(pod.uid);
        if (known) {
            if (auto same = cached(pod); !same) return unexpected(same.error());
        }
        pods_[pod.uid] = pod;
        drop_expired(lock);
    }
    const auto admitted = admit_containers(pod);
    if (!admitted) {
        remove(pod.uid);
        return unexpected(admitted.error());
    }
    std::vector<ContainerGrant> grants;
    const Lock lock(mutex_);
    for (const auto& container : pod.init_containers) {
        grants.push_back(grant_of(pod.uid, container.name));
    }
    for (const auto& container : pod.containers) {
        grants.push_back(grant_of(pod.uid, container.name));
    }
    return grants;
}

/// kubelet asks again for pods that ran before it restarted, and lets them be.
Result<Done> Devices::cached(const PodRequest& pod) const {
    const auto check = [&](const ContainerRequest& container) -> Result<Done> {
        for (const auto& [resource, count] : container.limits) {
            const auto* held = accounts_.allocation(pod.uid, container.name, resource);
            if (held == nullptr || held->ids().size() == count) continue;
            return unavailable("pod \"" + pod.uid + "\" container \"" + container.name +
                               "\" changed request for resource \"" + resource + "\" from " +
                               std::to_string(held->ids().size()) + " to " + std::to_string(count));
        }
        return Done{};
    };
    for (const auto* list : {&pod.init_containers, &pod.containers}) {
        for (const auto& container : *list) {
            if (auto checked = check(container); !checked) return checked;
        }
    }
    return Done{};
}

Result<Done> Devices::admit_containers(const PodRequest& pod) {
    Reusable reusable;
    const auto held_by = [&](const ContainerRequest& container, const std::string& resource) {
        const Lock lock(mutex_);
        const auto* held = accounts_.allocation(pod.uid, container.name, resource);
        return held == nullptr ? Ids{} : held->ids();
    };
    for (const auto& container : pod.init_containers) {
        if (auto done = allocate_container(pod, container, reusable); !done) return done;
        for (const auto& [resource, count] : container.limits) {
            const Ids held = held_by(container, resource);
            auto& left = reusable[resource];
            left = container.restartable ? minus(left, held) : united(left, held);
        }
    }
    for (const auto& container : pod.containers) {
        if (auto done = allocate_container(pod, container, reusable); !done) return done;
        for (const auto& [resource, count] : container.limits) {
            reusable[resource] = minus(reusable[resource], held_by(container, resource));
        }
    }
    return Done{};
}

Result<Done> Devices::allocate_container(const PodRequest& pod, const ContainerRequest& container,
                                         const Reusable& reusable) {
    static const Ids none;
    std::vector<std::pair<std::string, unsigned>> limits(container.limits.begin(),
                                                         container.limits.end());
    {
        const Lock lock(mutex_);
        std::shuffle(limits.begin(), limits.end(), random_);  // a Go map has no order
    }
    bool changed = false;
    for (const auto& [resource, count] : limits) {
        if (count == 0) continue;
        {
            const Lock lock(mutex_);
            if (accounts_.allocation(pod.uid, container.name, resource) != nullptr) continue;
        }
        const auto left = reusable.find(resource);
        const Ids& reuse = left == reusable.end() ? none : left->second;
        if (auto done = allocate_resource(pod, container, resource, count, reuse); !done) {
            return done;
        }
        changed = true;
    }
    if (changed) write_checkpoint();
    return Done{};
}

Result<Done> Devices::allocate_resource(const PodRequest& pod, const ContainerRequest& container,
                                        const std::string& resource, unsigned count,
                                        const Ids& reusable) {
    const auto chosen = choose(resource, count, reusable);
    if (!chosen) return chosen.error();
    Connection connection;
    std::vector<std::string> ids;
    {
        const Lock lock(mutex_);
        auto endpoint = live_endpoint(resource);
        if (!endpoint) return std::move(endpoint).error();
        connection = *std::move(endpoint);
        ids = shuffled(*chosen);
    }
    auto response = connection->allocate(ids, options_.call_timeout);

    const Lock lock(mutex_);
    if (!response) {
        // kubelet counts its books anew after an error, but not after an empty answer: the devices
        // are held by nobody until some pod with devices ends.
        const bool empty_answer = response.error().code == ErrorCode::kConflict;
        if (empty_answer) stranded_[resource].insert(chosen->begin(), chosen->end());
        if (!empty_answer) stranded_.clear();
        return unavailable(std::move(response).error().message);
    }
    if (!running_) return unavailable("kubelet is not running");
    if (!pods_.contains(pod.uid)) return unavailable("pod " + pod.uid + " was removed meanwhile");
    accounts_.record(pod.uid, container.name, resource, *chosen, *std::move(response));
    return Done{};
}

Result<Ids> Devices::choose(const std::string& resource, unsigned count, const Ids& reusable) {
    Lock lock(mutex_);
    if (!accounts_.registered(resource)) {
        return unavailable("cannot allocate unregistered device " + resource);
    }
    if (accounts_.healthy(resource).empty()) {
        return unavailable("no healthy devices present; cannot allocate unhealthy devices " +
                           resource);
    }
    Ids chosen;
    const auto take = [&](const Ids& from) {
        for (const auto& id : shuffled(minus(from, chosen))) {
            if (chosen.size() == count) break;
            chosen.insert(id);
        }
        return chosen.size() == count;
    };
    if (take(reusable)) return chosen;

    const Ids available =
        minus(minus(accounts_.healthy(resource), accounts_.in_use(resource)), stranded_[resource]);
    const auto needed = count - chosen.size();
    if (available.size() < needed) {
        return Error{ErrorCode::kConflict, "requested number of devices unavailable for " +
                                               resource + ". Requested: " + std::to_string(needed) +
                                               ", Available: " + std::to_string(available.size())};
    }
    // Without a policy the topology manager gives no hint: all devices are in one set.
    const auto wish = preferred(lock, resource, united(available, chosen), chosen, count);
    if (!wish) return wish.error();
    if (take(intersection(*wish, available)) || take(available)) return chosen;
    return unavailable("unexpectedly allocated less resources than required. Requested: " +
                       std::to_string(count) + ", Got: " + std::to_string(chosen.size()));
}

Result<Ids> Devices::preferred(Lock& lock, const std::string& resource, const Ids& available,
                               const Ids& must_include, unsigned count) {
    const auto endpoint = endpoints_.find(resource);
    if (endpoint == endpoints_.end()) {
        return unavailable("endpoint not found in cache for a registered resource: " + resource);
    }
    if (!endpoint->second.options.preferred_allocation) return Ids{};
    const auto failed = [](const std::string& reason) {
        return unavailable("device plugin GetPreferredAllocation rpc failed with err: " + reason);
    };
    const auto connection = live_endpoint(resource);
    if (!connection) return failed(connection.error().message);
    const auto offered = shuffled(available);
    const auto required = shuffled(must_include);
    lock.unlock();
    const auto answer = (*connection)->preferred(offered, required, count, options_.call_timeout);
    lock.lock();
    if (!answer) return failed(answer.error().message);
    return Ids(answer->begin(), answer->end());
}

Result<Devices::Connection> Devices::live_endpoint(const std::string& resource) const {
    const auto endpoint = endpoints_.find(resource);
    if (endpoint == endpoints_.end()) return unavailable("unknown Device Plugin " + resource);
    if (endpoint->second.stopped || !endpoint->second.connection) {
        return unavailable("endpoint " + resource + " has been stopped");
    }
    return endpoint->second.connection;
}

std::vector<std::string> Devices::shuffled(const Ids& ids) {
    std::vector<std::string> result(ids.begin(), ids.end());
    std::shuffle(result.begin(), result.end(), random_);
    return result;
}

ContainerGrant Devices::grant_of(const std::string& uid, const std::string& container) {
    ContainerGrant grant{.name = container, .devices = {}, .grant = {}};
    const auto pod = accounts_.pods().find(uid);
    if (pod == accounts_.pods().end()) return grant;
    const auto allocations = pod->second.find(container);
    if (allocations == pod->second.end()) return grant;
    std::vector<std::string> responses;
    for (const auto& [resource, allocation] : allocations->second) {
        const Ids ids = allocation.ids();
        grant.devices[resource].assign(ids.begin(), ids.end());
        responses.push_back(allocation.response);
    }
    std::shuffle(responses.begin(), responses.end(), random_);
    grant.grant = merge_responses(responses);
    return grant;
}

Result<ContainerGrant> Devices::start_container(const std::string& uid,
                                                const std::string& container) {
    struct Call {
        std::string resource;
        Connection connection;
        std::vector<std::string> ids;
    };
    std::vector<Call> calls;
    {
        const Lock lock(mutex_);
        if (!running_) return unavailable("kubelet is not running");
        const auto pod = accounts_.pods().find(uid);
        if (pod == accounts_.pods().end() || !pod->second.contains(container)) {
            return Error{ErrorCode::kNotFound,
                         "pod " + uid + " container " + container + ": holds no device"};
        }
        for (const auto& [resource, allocation] : pod->second.at(container)) {
            const auto endpoint = endpoints_.find(resource);
            if (endpoint == endpoints_.end()) {
                return unavailable("endpoint not found in cache for a registered resource: " +
                                   resource);
            }
            if (!endpoint->second.options.pre_start_required) continue;
            auto connection = live_endpoint(resource);
            if (!connection) return std::move(connection).error();
            calls.push_back({.resource = resource,
                             .connection = *std::move(connection),
                             .ids = shuffled(allocation.ids())});
        }
    }
    for (const auto& call : calls) {
        if (auto done = call.connection->pre_start(call.ids, kPreStartTimeout); !done) {
            return unavailable("device plugin PreStartContainer rpc failed with err: " +
                               done.error().message);
        }
    }
    const Lock lock(mutex_);
    return grant_of(uid, container);
}

void Devices::remove(const std::string& uid) {
    {
        const Lock lock(mutex_);
        pods_.erase(uid);
        if (!running_) gone_.insert(uid);  // the checkpoint still has it
        if (!accounts_.forget(uid)) return;
        stranded_.clear();
        changed_.notify_all();
    }
    write_checkpoint();
}

void Devices::forget_unknown_pods() {
    bool changed = false;
    {
        const Lock lock(mutex_);
        std::vector<std::string> unknown;
        for (const auto& [uid, containers] : accounts_.pods()) {
            if (!pods_.contains(uid)) unknown.push_back(uid);
        }
        for (const auto& uid : unknown) changed = accounts_.forget(uid) || changed;
    }
    if (changed) write_checkpoint();
}

}  // namespace aliquot::sim
