// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/guard_link.h"
#include "agent/options.h"
#include "agent/settings.h"
#include "dra/keeper.h"
#include "dra/plugin.h"
#include "dra/publisher.h"
#include "kube_client/api.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// GPUs as devices of Dynamic Resource Allocation: what is to be published, and who prepares claims. Used by one
/// thread, except held().
class ClaimService {
public:
    struct Sources {
        const os::Root& root;
        kube_client::Api* api;  // null: there is none; claims are only unprepared
        std::string node;
        GuardLink& guard;
    };

    /// sources   outlive this
    ClaimService(Sources sources, const Options& options);
    ~ClaimService();

    /// Whether this node's GPUs are handed out by claims, and so not by the device plugin.
    [[nodiscard]] bool serves() const { return options_.claims.mode != ClaimOptions::Mode::kOff; }

    /// Publishes what is seen and prepares from it. False: not everything could be done; another round is due.
    /// elsewhere   GPUs and MIG devices that pods still hold by the device plugin: not published
    bool apply(const Settings& settings, const sharing::Offer& wanted,
               const std::set<gpu::Uuid>& elsewhere, const gpu::Inventory& inventory);

    /// GPUs that claims hold, with the first claim of each. An error: nobody knows, so nothing new may be offered.
    [[nodiscard]] Result<std::map<gpu::Uuid, std::string>> held() { return keeper_.held(); }

    /// Whether an agent before us has left prepared claims, which must be unprepared even if none are served; so it is
    /// taken to be when that cannot be read.
    static bool has_left(const os::Root& root);

private:
    std::optional<dra::Mode> find_mode();

    const Sources sources_;
    const Options& options_;
    std::optional<dra::Mode> mode_;
    dra::Keeper keeper_;
    dra::Plugin plugin_;
    std::unique_ptr<dra::Publisher> publisher_;
};

/// The GPUs that claims hold, or whose MIG devices they do, are unhealthy to the device plugin.
gpu::Inventory without_claimed(gpu::Inventory inventory,
                               const std::map<gpu::Uuid, std::string>& held);

/// The GPUs and MIG devices of an offer: what pods still hold of a node that offers nothing any more.
std::set<gpu::Uuid> devices_in(const sharing::Offer& offer);

}  // namespace aliquot::agent
