// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/cluster_page.h"
#include "controller/cost_facts.h"
#include "cost_store/accounts.h"
#include "kube_client/informer.h"
#include "scaling/gatherer.h"

namespace aliquot::controller {

struct CostOptions {
    std::string store = "off";  // a file, postgresql://...
    std::string prices;         // file; empty: the table of cloud machines
    std::string listen = "off";
};

/// One node as it is noted: its agent's snapshot with what the API server says. Pure but for the recorder.
/// before   counters of the tenants as they were noted last, by key; changed
struct TenantCounters {
    std::uint64_t busy_ns = 0;
    std::uint64_t energy_millijoules = 0;
    std::uint64_t held_ns = 0;
    std::uint64_t denied = 0;
};
void note_node(
    cost::Recorder& recorder, cost::TimeMs now, const telemetry::Snapshot& snapshot,
    const NodeFacts& node,
    const std::function<PodFacts(const std::string& pod_namespace, const std::string& pod)>& facts,
    const cost::PriceFile& prices, std::map<std::string, TenantCounters>& before);

/// Prices as a cluster may use them: a budget of a queue or a user is told when it is spent and holds nobody, because these are
/// labels that whoever makes a pod writes. Says so in the log.
cost::PriceFile held_by_namespace(cost::PriceFile prices);

/// Writes what pods of the cluster hold and use into accounts, while this replica leads: who has which GPU and how busy it is
/// by the agents, who the pod is of and when it ended by the API server. Threads of its own.
class ClusterCosts {
public:
    struct Dependencies {
        kube_client::Api& api;
        std::function<bool()> leads;
    };
    /// api      outlives it
    /// errors   of the price file, the store and the agents' options
    static Result<std::unique_ptr<ClusterCosts>> start(const CostOptions& options,
                                                       const PageOptions& agents,
                                                       Dependencies dependencies);
    ~ClusterCosts();

    /// Why a budget does not let pods of a namespace start; empty: they may.
    [[nodiscard]] std::string held(const std::string& name_space) const;
    [[nodiscard]] cost_store::Accounts& accounts() { return *accounts_; }

private:
    ClusterCosts(const CostOptions& options, Dependencies dependencies);
    void take(const telemetry::Snapshot& snapshot);
    void pod_changed(const kube_client::ObjectKey& key, const kube_client::StoredObject& after);
    [[nodiscard]] PodFacts facts_of(const std::string& pod_namespace, const std::string& pod) const;
    void forget_lost_nodes();
    Result<Done> listen(const PageOptions& agents);

    const CostOptions options_;
    const Dependencies world_;
    TokenGate gate_;
    std::atomic<bool> started_{false};
    kube_client::Informer pods_;
    kube_client::Informer nodes_;
    std::mutex mutex_;                                                       // guards what follows
    std::map<std::string, std::map<std::string, TenantCounters>> counters_;  // by node
    std::map<std::string, std::chrono::steady_clock::time_point> seen_;      // by node
    std::unique_ptr<cost_store::Accounts> accounts_;
    std::unique_ptr<scaling::Gatherer> gatherer_;
    std::unique_ptr<http::Server> server_;  // last, as these use the others
};

}  // namespace aliquot::controller
