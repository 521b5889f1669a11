// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster.h"

#include "base/log.h"
#include "kube_client/connect.h"
#include "os/host_name.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kClusterPatience{10'000};

std::string node_name(const Options& options) {
    if (!options.telemetry.node.empty()) return options.telemetry.node;
    return os::host_name();
}

}  // namespace

Result<Cluster> join_cluster(const Options& options, os::Clock& clock,
                             const std::stop_token& stop) {
    auto connection = kube_client::connect({.kubeconfig = options.cluster.kubeconfig,
                                            .context = options.cluster.context,
                                            .user_agent = "aliquot-agent/" ALIQUOT_VERSION,
                                            .limits = kube_client::kNodeLimits});
    if (!connection) return connection.error();
    Cluster cluster{.api = std::move(connection->api)};
    cluster.name = node_name(options);
    const std::string& name = cluster.name;
    log::info("cluster.joined",
              {{"server", connection->server}, {"as", connection->origin}, {"node", name}});
    cluster.link = std::make_unique<NodeSync>(*cluster.api, clock, name, options.cluster);
    cluster.link->start(kClusterPatience, stop);
    return cluster;
}

std::unique_ptr<MigRequests> obey_mig_label(const os::Root& root, os::Clock& clock,
                                            const Options& options, Cluster& cluster,
                                            DeferredDriver& driver, Observer& observer,
                                            const Latest<std::uint64_t>& served,
                                            kubelet::PodResources& pods, const RecentGrants& grants,
                                            const ClaimSwitch& claims) {
    if (!cluster.link || !options.cluster.mig) return nullptr;
    return std::make_unique<MigRequests>(
        root, clock,
        MigRequests::Sources{.driver = driver,
                             .cluster = *cluster.link,
                             .observer = observer,
                             .served = served,
                             .pods = pods,
                             .granted_within =
                                 [&grants](const gpu::Uuid& device, std::chrono::milliseconds age) {
                                     return grants.granted_within(device, age);
                                 },
                             .cut_by_claims = [&claims] { return claims.cuts(); },
                             .evict = [&cluster](const std::string& pod_namespace,
                                                 const std::string& pod) -> Result<Done> {
                                 return cluster.api->evict({pod_namespace, pod}).result();
                             }},
        MigRequests::Options{.state_directory = options.state_directory + "/mig",
                             .rules = {.drain = options.cluster.drain,
                                       .drain_timeout = options.cluster.drain_timeout},
                             .settle = options.probe_interval,
                             .claims = {.cdi = options.cdi_directory}});
}

}  // namespace aliquot::agent
