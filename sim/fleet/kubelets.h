// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube_client/api.h"
#include "sim/fleet/light_node.h"

namespace aliquot::sim::fleet {

/// A pod with this annotation ("30s", "5m") ends with success so long after its start.
inline constexpr char kRunForAnnotation[] = "sim.aliquot.dev/run-for";

struct KubeletOptions {
    std::chrono::milliseconds start_delay{0};  // from a pod's admission to Running
    /// Between two renewals of a node's Lease; 0: none are kept.
    std::chrono::milliseconds heartbeat{10'000};
    /// Between two looks of a kubelet whether the API server has what it said last, as
    /// nodeStatusUpdateFrequency is.
    std::chrono::milliseconds look_again{10'000};
    /// How long pods stay on a node that is lost before they are deleted, as NoExecute does after 300 s.
    std::chrono::milliseconds evict_after{300'000};
    unsigned workers = 4;  // writes at once
};

/// The kubelets and agents of all nodes, and what kube-controller-manager does when one is lost: pods that are
/// bound get devices and run, or fail as kubelet fails them; the agents tell who got what. Thread-safe; threads of
/// its own from start() to stop().
class Kubelets {
public:
    Kubelets(kube_client::Api& api, const KubeletOptions& options);
    ~Kubelets();
    Kubelets(const Kubelets&) = delete;
    Kubelets& operator=(const Kubelets&) = delete;

    /// Creates the Node object. Before start().
    /// errors   as the API server answers
    Result<Done> add(LightNode node, const std::string& zone);
    void start();
    void stop();

    /// Ends the agent of a node: no device is allocatable there until start_agent().
    void stop_agent(const std::string& node);
    void start_agent(const std::string& node);
    /// The node falls silent, is tainted and loses its pods; its kubelet knows of nothing until it is back.
    void lose(const std::string& node);
    void bring_back(const std::string& node);
    void set_health(const std::string& node, unsigned gpu, bool healthy);

    /// All nodes, one after the other, by name; nothing changes meanwhile.
    void visit(const std::function<void(const LightNode&, bool is_lost)>& look) const;
    [[nodiscard]] std::vector<std::string> names() const;

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace aliquot::sim::fleet
