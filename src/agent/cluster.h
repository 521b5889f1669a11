// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>

#include "agent/claim_switch.h"
#include "agent/mig_requests.h"
#include "agent/node_sync.h"
#include "agent/options.h"
#include "agent/serving.h"
#include "kube_client/api.h"

namespace aliquot::agent {

/// The way to the API server, and what goes over it.
struct Cluster {
    std::unique_ptr<kube_client::Api> api;
    std::string name;                // of the Node
    std::unique_ptr<NodeSync> link;  // null: we speak to none
};

/// Connects as the options say and waits a while for the Node and its configurations.
/// errors   of kube_client::connect()
Result<Cluster> join_cluster(const Options& options, os::Clock& clock, const std::stop_token& stop);

/// Begins to obey nvidia.com/mig.config, when the options say so; null: they do not. What is given
/// must outlive it.
/// served   as MigRequests::Sources
std::unique_ptr<MigRequests> obey_mig_label(const os::Root& root, os::Clock& clock,
                                            const Options& options, Cluster& cluster,
                                            DeferredDriver& driver, Observer& observer,
                                            const Latest<std::uint64_t>& served,
                                            kubelet::PodResources& pods, const RecentGrants& grants,
                                            const ClaimSwitch& claims);

}  // namespace aliquot::agent
