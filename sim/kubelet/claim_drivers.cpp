// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/claim_drivers.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::sim {
namespace {

Error not_now(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }

}  // namespace

Result<Done> ClaimDrivers::start() {
    const auto text = root_.read(checkpoint_);
    if (!text && text.error().code == ErrorCode::kNotFound) return Done{};
    if (!text) return text.error();
    auto claims = parse_claim_checkpoint(*text);
    if (!claims) return std::move(claims).error();
    const std::lock_guard lock(guard_);
    claims_.clear();
    for (ClaimEntry& claim : *claims) {
        const std::string uid = claim.reference.uid;
        claims_[uid] = {std::move(claim)};
    }
    return Done{};
}

Result<Done> ClaimDrivers::write() const {
    std::vector<ClaimEntry> entries;
    for (const auto& [uid, claim] : claims_) entries.push_back(claim);
    return root_.write_atomically(checkpoint_, to_json(entries), 0600);
}

Result<Done> ClaimDrivers::validate(const std::string& driver,
                                    const std::vector<std::string>& versions) {
    if (versions.empty()) return not_now("empty list for supported versions");
    const std::lock_guard lock(guard_);
    for (const std::string& version : versions) {
        if (version != "v1.DRAPlugin" && version != "v1beta1.DRAPlugin") continue;
        versions_[driver] =
            version == "v1.DRAPlugin" ? ClaimPlugin::Version::kV1 : ClaimPlugin::Version::kV1Beta1;
        return Done{};
    }
    return not_now("none of services supported by the plugin (" + join(versions) +
                   ") are supported by the kubelet (v1.DRAPlugin, v1beta1.DRAPlugin)");
}

Result<Done> ClaimDrivers::connect(const std::string& driver, const std::string& socket,
                                   std::chrono::milliseconds timeout, const Stopped& stopped) {
    std::shared_ptr<ClaimPlugin> plugin;
    {
        const std::lock_guard lock(guard_);
        for (const auto& one : plugins_[driver]) {
            if (one->socket() != socket) continue;
            return not_now("endpoint " + socket + " already registered for DRA driver plugin " +
                           driver);
        }
        plugin = std::make_shared<ClaimPlugin>(driver, socket, versions_[driver]);
    }
    if (auto dialled = plugin->dial(timeout, stopped); !dialled) return dialled;
    const std::lock_guard lock(guard_);
    plugins_[driver].push_back(std::move(plugin));
    return Done{};
}

void ClaimDrivers::disconnect(const std::string& driver, const std::string& socket) {
    const std::lock_guard lock(guard_);
    const auto found = plugins_.find(driver);
    if (found == plugins_.end()) return;
    std::erase_if(found->second, [&](const auto& one) { return one->socket() == socket; });
    if (found->second.empty()) plugins_.erase(found);
}

void ClaimDrivers::stop() {
    const std::lock_guard lock(guard_);
    plugins_.clear();
    for (auto& [uid, claim] : claims_) claim.prepared = false;
}

std::vector<std::string> ClaimDrivers::drivers() const {
    const std::lock_guard lock(guard_);
    std::vector<std::string> names;
    for (const auto& [name, instances] : plugins_) {
        if (!instances.empty()) names.push_back(name);
    }
    return names;
}

Result<std::shared_ptr<ClaimPlugin>> ClaimDrivers::plugin_of(const std::string& driver) const {
    const auto found = plugins_.find(driver);
    if (found == plugins_.end() || found->second.empty()) {
        return not_now("DRA driver " + driver + " is not registered");
    }
    return found->second.back();
}

Result<Done> ClaimDrivers::note(const std::string& pod, const std::vector<ClaimReference>& claims) {
    for (const ClaimReference& reference : claims) {
        for (const auto& [uid, known] : claims_) {
            const bool same = known.reference.name == reference.name &&
                              known.reference.claim_namespace == reference.claim_namespace;
            if (!same || uid == reference.uid) continue;
            return not_now("old ResourceClaim with same name " + reference.name +
                           " and different UID " + uid +
                           " still exists (previous pod force-deleted?!)");
        }
        Claim& claim = claims_[reference.uid];
        claim.reference = reference;
        claim.pods.insert(pod);
    }
    return write();  // before any driver is called
}

Result<std::vector<PreparedDevice>> ClaimDrivers::prepare(
    const std::string& pod, const std::vector<ClaimReference>& claims) {
    const std::lock_guard one_pod(calls_);
    std::map<std::string, std::vector<ClaimReference>> by_driver;
    {
        const std::lock_guard lock(guard_);
        if (auto noted = note(pod, claims); !noted) return std::move(noted).error();
        for (const ClaimReference& reference : claims) {
            if (claims_[reference.uid].prepared) continue;
            for (const std::string& driver : reference.drivers)
                by_driver[driver].push_back(reference);
        }
    }
    for (const auto& [driver, wanted] : by_driver) {
        if (auto done = prepare_with(driver, wanted); !done) return std::move(done).error();
    }
    const std::lock_guard lock(guard_);
    std::vector<PreparedDevice> devices;
    for (const ClaimReference& reference : claims) {
        Claim& claim = claims_[reference.uid];
        claim.prepared = true;
        for (const auto& [driver, of_driver] : claim.devices) {
            devices.insert(devices.end(), of_driver.begin(), of_driver.end());
        }
    }
    if (auto written = write(); !written) return std::move(written).error();
    return devices;
}

Result<Done> ClaimDrivers::prepare_with(const std::string& driver,
                                        const std::vector<ClaimReference>& claims) {
    std::unique_lock lock(guard_);
    auto plugin = plugin_of(driver);
    lock.unlock();
    if (!plugin) return std::move(plugin).error();
    auto answer = (*plugin)->prepare(claims, timeout_);
    if (!answer) {
        return not_now("NodePrepareResources failed: " + answer.error().message);
    }
    lock.lock();
    std::size_t skipped = claims.size();
    for (auto& [uid, prepared] : *answer) {
        const auto wanted = std::ranges::find(claims, uid, &ClaimReference::uid);
        if (wanted == claims.end()) {
            return not_now("NodePrepareResources returned unknown claim UID " + uid);
        }
        if (!prepared.error.empty()) {
            return not_now("NodePrepareResources failed for ResourceClaim " + wanted->name + ": " +
                           prepared.error);
        }
        claims_[uid].devices[driver] = std::move(prepared.devices);
        --skipped;
    }
    if (skipped > 0) {
        return not_now("NodePrepareResources skipped " + std::to_string(skipped) +
                       " ResourceClaims");
    }
    return Done{};
}

Result<Done> ClaimDrivers::unprepare(const std::string& pod) {
    const std::lock_guard one_pod(calls_);
    std::map<std::string, std::vector<ClaimReference>> by_driver;
    std::vector<std::string> ended;
    {
        const std::lock_guard lock(guard_);
        for (auto& [uid, claim] : claims_) {
            if (!claim.pods.contains(pod)) continue;
            if (claim.pods.size() > 1) {
                claim.pods.erase(pod);
                continue;
            }
            ended.push_back(uid);
            for (const std::string& driver : claim.reference.drivers) {
                by_driver[driver].push_back(claim.reference);
            }
        }
    }
    for (const auto& [driver, claims] : by_driver) {
        if (auto done = unprepare_with(driver, claims); !done) return done;
    }
    const std::lock_guard lock(guard_);
    for (const std::string& uid : ended) claims_.erase(uid);
    uses_.erase(pod);
    return write();
}

void ClaimDrivers::use(const std::string& pod, Uses uses) {
    const std::lock_guard lock(guard_);
    uses_.insert_or_assign(pod, std::move(uses));
}

void ClaimDrivers::add_to(std::vector<PodHoldings>& pods) const {
    const std::lock_guard lock(guard_);
    for (const auto& [uid, uses] : uses_) {
        auto pod = std::ranges::find_if(pods, [&](const PodHoldings& one) {
            return one.pod_namespace == uses.pod_namespace && one.name == uses.pod;
        });
        if (pod == pods.end()) {
            pods.push_back(
                {.pod_namespace = uses.pod_namespace, .name = uses.pod, .containers = {}});
            pod = std::prev(pods.end());
        }
        for (const auto& [name, claims] : uses.containers) {
            auto container =
                std::ranges::find(pod->containers, name, &PodHoldings::Container::name);
            if (container == pod->containers.end()) {
                pod->containers.push_back({.name = name, .devices = {}, .claims = {}});
                container = std::prev(pod->containers.end());
            }
            container->claims = claims;
        }
    }
}

Result<Done> ClaimDrivers::unprepare_with(const std::string& driver,
                                          const std::vector<ClaimReference>& claims) {
    std::unique_lock lock(guard_);
    auto plugin = plugin_of(driver);
    lock.unlock();
    if (!plugin) return std::move(plugin).error();
    const auto answer = (*plugin)->unprepare(claims, timeout_);
    if (!answer) return not_now("NodeUnprepareResources failed: " + answer.error().message);
    for (const ClaimReference& claim : claims) {
        const auto found = answer->find(claim.uid);
        if (found == answer->end()) {
            return not_now("NodeUnprepareResources skipped ResourceClaim " + claim.name);
        }
        if (!found->second.empty()) {
            return not_now("NodeUnprepareResources failed for ResourceClaim " + claim.name + ": " +
                           found->second);
        }
    }
    return Done{};
}

}  // namespace aliquot::sim
