// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/claim_switch.h"
#include "agent/config_rollout.h"
#include "agent/configuration.h"
#include "agent/feature_file.h"
#include "agent/guard_link.h"
#include "agent/mig_restore.h"
#include "agent/mps_control.h"
#include "agent/node_placement.h"
#include "agent/node_sync.h"
#include "agent/observer.h"
#include "agent/options.h"
#include "agent/serving.h"
#include "agent/signals.h"
#include "agent/status_page.h"
#include "agent/telemetry_service.h"
#include "node/node_object.h"

namespace aliquot::agent {

/// The main loop: makes kubelet, the MPS daemons, the guard, the label files and the Node follow
/// what is observed and configured. Used by one thread.
class NodeLoop {
public:
    /// All of it outlives the loop.
    struct Parts {
        const os::Root& root;
        const Options& options;
        os::Clock& clock;
        Signals& signals;
        Configuration& configuration;
        Observer& observer;
        MigRestore& restore;
        kubelet::PodResources& pods;
        RecentGrants& grants;
        MpsControl& mps;
        GuardLink& guard;
        TelemetryService& telemetry;
        FeatureFile& features;
        Serving& serving;
        StatusBoard& board;
        Latest<std::uint64_t>& served;  // set: the newest observation that kubelet is told of
        NodeSync* cluster;              // null: we speak to no API server
        NodePlacement* placement;       // null: pods are not placed
        ClaimSwitch& claims;
    };

    explicit NodeLoop(const Parts& parts);

    /// Until a signal ends it.
    void run();

private:
    /// Waits for an observation, a signal or the time to look at the configuration again. False:
    /// nothing is new and nothing was left undone.
    bool wait_for_news();
    void reload_configuration();
    void look_at_free_space();
    void tell_configuration();
    /// Whether the container toolkit came or went: nobody tells of it, and the Node is to be told.
    bool look_at_toolkit();
    /// What is to be offered. An offer that the newest configuration does not allow rejects it, for
    /// the one before. errors: not even that one fits
    Result<sharing::Offer> decide(const gpu::Inventory& inventory);
    Result<sharing::Offer> decide_once(const gpu::Inventory& inventory);
    /// One round. False: not everything could be done, so another one is due.
    bool reconcile();
    [[nodiscard]] bool serves_claims() const { return parts_.claims.serves(); }
    /// Hands out by claims what is wanted of the GPUs, but for what pods hold otherwise. As reconcile().
    bool reconcile_claims(const Settings& settings, const sharing::Offer& wanted,
                          const sharing::Rollout& round, const gpu::Inventory& inventory);
    /// labelled   what the node's labels tell of: also what it hands out by claims
    void tell_cluster(const Settings& settings, const sharing::Rollout& round,
                      const sharing::Offer& labelled);

    const Parts parts_;
    ConfigRollout rollout_;
    Latest<Observation>::Seen seen_;
    std::uint64_t mps_version_ = 0;
    HeldByClaims held_;
    std::vector<sharing::WaitingDevice> told_waiting_;
    std::string shortage_;     // of room for what pods with limits need; empty: there is room
    std::string driver_root_;  // that needs a restart to be another one
    std::optional<node::Condition> toolkit_;
    bool reloaded_ = false;
    bool again_ = false;  // the last round did not do everything
};

}  // namespace aliquot::agent
