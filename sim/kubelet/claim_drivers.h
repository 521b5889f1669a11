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
#include "os/root.h"
#include "sim/kubelet/claim_checkpoint.h"
#include "sim/kubelet/claim_plugin.h"
#include "sim/kubelet/pod_claims.h"
#include "sim/kubelet/pod_resources_server.h"

namespace aliquot::sim {

/// kubelet's manager of dynamic resources: the drivers that registered, the claims of the pods and what
/// was prepared for them. That a claim is prepared is known until kubelet stops; which pods use it, and
/// the devices, survive in its checkpoint, dra_manager_state. Thread-safe; calls of drivers are one at a time.
/// source   k8s.io/kubernetes/pkg/kubelet/cm/dra, 1.36
class ClaimDrivers {
public:
    /// checkpoint   host path; root outlives this
    ClaimDrivers(const os::Root& root, std::string checkpoint, std::chrono::milliseconds timeout)
        : root_(root), checkpoint_(std::move(checkpoint)), timeout_(timeout) {}

    /// Reads the checkpoint. errors   kInvalidInput: kubelet does not start with such a one
    Result<Done> start();

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
    struct Claim : ClaimEntry {
        bool prepared = false;
    };
    using Plugins = std::map<std::string, std::vector<std::shared_ptr<ClaimPlugin>>>;

    [[nodiscard]] Result<std::shared_ptr<ClaimPlugin>> plugin_of(const std::string& driver) const;
    /// With guard_ held. errors   it cannot be written
    Result<Done> write() const;
    Result<Done> note(const std::string& pod, const std::vector<ClaimReference>& claims);
    Result<Done> prepare_with(const std::string& driver, const std::vector<ClaimReference>& claims);
    Result<Done> unprepare_with(const std::string& driver,
                                const std::vector<ClaimReference>& claims);

    const os::Root& root_;
    const std::string checkpoint_;
    const std::chrono::milliseconds timeout_;
    std::mutex calls_;  // one pod at a time
    mutable std::mutex guard_;
    Plugins plugins_;
    std::map<std::string, ClaimPlugin::Version> versions_;  // validated, by driver
    std::map<std::string, Claim> claims_;                   // by uid
    std::map<std::string, Uses> uses_;                      // by the uid of the pod
};

}  // namespace aliquot::sim
