// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/planned_grants.h"
#include "kube_client/api.h"
#include "kube_client/informer.h"
#include "pods/census.h"
#include "scheduling/served_node.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// The node's part in placement: knows what was planned for pods that come here, and tells who got what. One thread
/// of its own beside the watch. Thread-safe.
class NodePlacement {
public:
    struct Sources {
        kube_client::Api& api;
        std::function<std::shared_ptr<const pods::Holders>()> holders;  // null: not known yet
        /// Writes the annotation aliquot.dev/granted.
        std::function<void(std::string granted)> tell;
    };
    NodePlacement(std::string node, Sources sources);
    ~NodePlacement();
    NodePlacement(const NodePlacement&) = delete;
    NodePlacement& operator=(const NodePlacement&) = delete;

    void start();
    /// What is offered from now on.
    void apply(const sharing::Offer& offer);
    [[nodiscard]] PlannedGrants& plans() { return plans_; }

private:
    void note(const kube_client::StoredObject& before, const kube_client::StoredObject& after);
    void look_for_plans();
    void run(const std::stop_token& stop);
    void report(const pods::Holders& holders);

    const std::string node_;
    const Sources sources_;
    PlannedGrants plans_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, std::string> gpu_of_;  // by device; guarded by mutex_
    kube_client::Informer pods_;
    std::jthread thread_;  // last: it uses the others
};

/// By pod, what holders have of each GPU. gpu_of   uuid of the GPU by uuid of a GPU or MIG device
scheduling::Granted granted_of(const pods::Holders& holders,
                               const std::map<std::string, std::string>& gpu_of);

}  // namespace aliquot::agent
