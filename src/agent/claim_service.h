// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/deferred_driver.h"
#include "agent/guard_link.h"
#include "agent/observer.h"
#include "agent/options.h"
#include "agent/settings.h"
#include "base/latest.h"
#include "dra/cutter.h"
#include "dra/keeper.h"
#include "dra/plugin.h"
#include "dra/publisher.h"
#include "kube_client/api.h"
#include "os/clock.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// GPUs as devices of Dynamic Resource Allocation: what is to be published, and who prepares claims. Used by one
/// thread.
class ClaimService {
public:
    struct Sources {
        const os::Root& root;
        kube_client::Api* api;  // null: there is none; claims are only unprepared
        std::string node;
        GuardLink& guard;
        os::Clock& clock;
        DeferredDriver& driver;
        Observer& observer;
    };

    /// sources   outlive this
    ClaimService(Sources sources, const Options& options);
    ~ClaimService();

    /// Whether this node's GPUs are handed out by claims, and so not by the device plugin.
    [[nodiscard]] bool serves() const { return wanted_ != ClaimOptions::Mode::kOff; }
    /// How, from the next apply() on; at first not at all. Not kByLabel.
    void set_mode(ClaimOptions::Mode mode);

    /// Publishes what is seen and prepares from it. False: not everything could be done; another round is due.
    /// elsewhere   GPUs and MIG devices that pods still hold by the device plugin: not published
    bool apply(const Settings& settings, const sharing::Offer& wanted,
               const std::set<gpu::Uuid>& elsewhere, const gpu::Inventory& inventory);

    /// Whether a device is not published because of what claims hold that may have ended since: another round is due.
    [[nodiscard]] bool holds_back() const { return !held_back_.empty(); }

    /// GPUs that claims hold, with the first claim of each; where claims are not served no other will. An error: nobody
    /// knows, so nothing new may be offered.
    [[nodiscard]] Result<std::map<gpu::Uuid, std::string>> held();

    /// Whether an agent before us has left prepared claims, which must be unprepared even if none are served; so it is
    /// taken to be when that cannot be read.
    static bool has_left(const os::Root& root);

    /// Why nothing is published though claims are to be served, as far as is known; empty: it is published.
    [[nodiscard]] std::string refusal() const;

private:
    std::optional<dra::Mode> find_mode();
    /// Whether the API server keeps it; empty: it does not say.
    std::optional<bool> keeps(dra::Feature feature);
    dra::Keeper::Sources keeper_sources();
    dra::Cutter::Sources cutter_sources();
    Result<dra::Cutter::Seen> look_at_node();
    /// Adds what can be cut out of each GPU.
    void add_geometries(const gpu::Inventory& inventory, dra::PlaceFacts& places);
    bool publish(const std::vector<dra::Device>& devices);

    const Sources sources_;
    ClaimOptions::Mode wanted_ = ClaimOptions::Mode::kOff;
    std::optional<dra::Mode> mode_;                 // of wanted_, once it is known
    std::string refused_;                           // why nothing is published in that way
    bool closed_ = false;                           // no claim is prepared any more
    std::map<std::string, std::string> held_back_;  // dra::Publishable::held_back
    std::map<gpu::Uuid, mig::Geometry> told_;       // by the driver
    Latest<Settings> settings_;                     // of the last apply()
    Latest<std::map<std::string, std::set<std::string>>> reset_along_;  // dra::reset_along()
    dra::Cutter cutter_;  // used with the keeper's lock held
    dra::Keeper keeper_;
    dra::Plugin plugin_;
    std::unique_ptr<dra::Publisher> publisher_;
};

/// What claims hold on a node that offers its GPUs by the device plugin, as last known: while claims are only
/// unprepared that can only be too much.
class HeldByClaims {
public:
    using Gpus = std::map<gpu::Uuid, std::string>;

    /// now       of ClaimService::held(); an error is logged
    /// returns   empty: not known yet, and so nothing may be offered
    const std::optional<Gpus>& look(Result<Gpus> now);

private:
    std::optional<Gpus> known_;
};

/// The GPUs that claims hold, or whose MIG devices they do, are unhealthy to the device plugin.
gpu::Inventory without_claimed(gpu::Inventory inventory,
                               const std::map<gpu::Uuid, std::string>& held);

/// `elsewhere`, with each GPU that claims cut and of which it has a MIG device: what claims could get of that GPU then
/// nobody but its driver knows.
std::set<gpu::Uuid> with_cut_gpus(std::set<gpu::Uuid> elsewhere, const gpu::Inventory& inventory,
                                  const std::map<gpu::Uuid, mig::Geometry>& cut);

/// The GPUs and MIG devices of an offer: what pods still hold of a node that offers nothing any more.
std::set<gpu::Uuid> devices_in(const sharing::Offer& offer);

}  // namespace aliquot::agent
