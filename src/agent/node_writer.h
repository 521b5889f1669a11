// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/cluster_options.h"
#include "agent/node_requests.h"
#include "gpu/inventory.h"
#include "kube_client/api.h"
#include "labels/labels.h"
#include "node/change.h"
#include "node/health.h"
#include "node/offer_text.h"

namespace aliquot::agent {

/// What the agent knows of its machine.
struct NodeFacts {
    labels::Labels labels;
    gpu::Inventory inventory;
    std::string driver_problem;
    bool has_board = false;  // a GPU of NVIDIA's is on the bus, whatever the driver says
    std::vector<node::ShareStatus> shares;
    node::GpuOffers offers;
    std::vector<sharing::WaitingDevice> waiting;  // are not served as is configured
    std::optional<node::Condition> toolkit;       // toolkit_condition(); empty: nobody can say
};

/// Writes what the agent knows to its Node: labels, annotations, taints, conditions, and to a
/// NodeFeature where that is wanted. What cannot be written waits. Thread-safe; one thread writes.
class NodeWriter {
public:
    /// api, requests   must outlive this
    /// node            the name of the Node
    NodeWriter(kube_client::Api& api, NodeRequests& requests, std::string node,
               const ClusterOptions& options);
    ~NodeWriter();
    NodeWriter(const NodeWriter&) = delete;
    NodeWriter& operator=(const NodeWriter&) = delete;

    void start();

    /// What is to be written from now on; the result is what was to be before.
    std::optional<NodeFacts> set(NodeFacts facts);
    std::optional<node::ConfigStatus> set(const node::ConfigStatus& status);
    node::MigStatus set(const node::MigStatus& status);
    /// Who holds what (scheduling/served_node.h); until it is set nothing is said of it.
    void set_granted(std::string granted);
    /// The Node may have become another one.
    void look_again();
    /// Why shares with limits cannot be given out; empty: they can.
    void set_limits_problem(const std::string& problem);

    /// Waits until everything set so far is written (or refused by the server). False: not within
    /// `limit`.
    bool flush(std::chrono::milliseconds limit);

private:
    void wait_for_work(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit,
                       const std::stop_token& stop, const std::function<bool()>& so);
    void run(const std::stop_token& stop);
    bool write(const std::stop_token& stop);
    bool write_feature(const std::stop_token& stop);
    [[nodiscard]] std::optional<node::DesiredNode> desired(const k8s::Node& node) const;
    [[nodiscard]] std::optional<node::Change> change(const k8s::Node& node) const;
    void add_statuses(node::DesiredNode& desired) const;
    void note_foreign(const std::vector<std::string>& keys);
    enum class Part : std::uint8_t { kMetadataAndSpec, kStatus };
    bool patch(const std::string& body, Part part, const std::stop_token& stop);
    void complain(const std::string& problem);
    /// `mutex_` is held.
    void wake();

    kube_client::Api& api_;
    NodeRequests& requests_;
    const std::string node_;
    const ClusterOptions options_;

    mutable std::mutex mutex_;  // guards what follows, up to the thread's own
    std::condition_variable_any changed_;
    std::optional<NodeFacts> facts_;
    std::optional<node::ConfigStatus> config_status_;
    node::MigStatus mig_status_;
    std::string limits_problem_;
    std::optional<std::string> granted_;
    std::uint64_t wanted_ = 0;   // grows with everything that may have to be written
    std::uint64_t written_ = 0;  // what of it has been looked at

    std::string complained_of_;  // of the thread, as what follows
    std::string feature_;        // the NodeFeature as it was written last
    std::vector<std::string> foreign_;
    std::jthread thread_;  // last: it uses all the others
};

/// The NodeFeature object by which node-feature-discovery is told labels. Pure.
/// source   NFD, nfd.k8s-sigs.io/v1alpha1; the name is NVIDIA's form with our own prefix
std::string node_feature(const std::string& node, const std::string& namespace_name,
                         const labels::Labels& labels);

}  // namespace aliquot::agent
