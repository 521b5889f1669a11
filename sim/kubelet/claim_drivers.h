// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/claim_plugin.h"
#include "sim/kubelet/pod_claims.h"
#include "sim/kubelet/pod_resources_server.h"

namespace aliquot::sim {

/// kubelet's manager of dynamic resources: the drivers that registered, the claims of the pods and what
/// was prepared for them. That a claim is prepared is known until kubelet stops; which pods use it, and
/// the devices, survive (its checkpoint). Thread-safe; calls of drivers are one at a time.
/// source   k8s.io/kubernetes/pkg/kubelet/cm/dra, 1.36
class ClaimDrivers {
public:
    explicit ClaimDrivers(std::chrono::milliseconds timeout) : timeout_(timeout) {}

    Result<Done> validate(const std::string& driver, const std::vector<std::string>& versions);
    /// Several instances of a driver may be there during a rolling update: the youngest is called.
    Result<Done> connect(const std::string& driver, const std::string& socket,
                         std::chrono::milliseconds timeout, const Stopped& stopped);
    void disconnect(const std::string& driver, const std::string& socket);
    /// kubelet ends.
    void stop();

    Result<std::vector<PreparedDevice>> prepare(const std::string& pod,
                                                const std::vector<ClaimReference>& claims);
    Result<Done> unprepare(const std::string& pod);

    /// Which containers of a pod have what; until it is unprepared.
    struct Uses {
        std::string pod_namespace;
        std::string pod;
        std::map<std::string, std::vector<ClaimUse>> containers;
    };
    void use(const std::string& pod, Uses uses);
    /// Adds what the containers of these pods have by claims.
    void add_to(std::vector<PodHoldings>& pods) const;
    [[nodiscard]] std::vector<std::string> drivers() const;

private:
    struct Claim {
        ClaimReference reference;
        std::set<std::string> pods;
        bool prepared = false;
        std::map<std::string, std::vector<PreparedDevice>> devices;  // by driver
    };
    using Plugins = std::map<std::string, std::vector<std::shared_ptr<ClaimPlugin>>>;

    [[nodiscard]] Result<std::shared_ptr<ClaimPlugin>> plugin_of(const std::string& driver) const;
    Result<Done> note(const std::string& pod, const std::vector<ClaimReference>& claims);
    Result<Done> prepare_with(const std::string& driver, const std::vector<ClaimReference>& claims);
    Result<Done> unprepare_with(const std::string& driver,
                                const std::vector<ClaimReference>& claims);

    const std::chrono::milliseconds timeout_;
    std::mutex calls_;  // one pod at a time
    mutable std::mutex guard_;
    Plugins plugins_;
    std::map<std::string, ClaimPlugin::Version> versions_;  // validated, by driver
    std::map<std::string, Claim> claims_;                   // by uid
    std::map<std::string, Uses> uses_;                      // by the uid of the pod
};

}  // namespace aliquot::sim
