// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "node/health.h"
#include "node/node_object.h"

namespace aliquot::agent {

/// What the agent is told about the API server.
struct ClusterOptions {
    enum class Mode : std::uint8_t {
        kAuto,  // when there is a service account and the node's name is told
        kOn,
        kOff,
    };
    /// Who writes the feature labels.
    enum class Labels : std::uint8_t {
        kNode,         // we, on the Node
        kNodeFeature,  // node-feature-discovery, from an object that we write
        kOff,
    };
    /// What happens to pods that hold a GPU that is to be cut in another way.
    enum class Drain : std::uint8_t {
        kRefuse,  // nothing is changed while one does
        kWait,    // no new ones come; those that are there end by themselves
        kEvict,   // they are evicted, as disruption budgets allow
    };

    Mode mode = Mode::kAuto;
    std::string kubeconfig;  // empty: the service account, or where kubectl looks
    std::string context;
    std::string namespace_name = "aliquot-system";
    std::string config_map = "aliquot-config";
    std::string default_config;
    Labels labels = Labels::kNode;
    std::optional<k8s::Taint> node_taint;
    node::TaintPolicy unhealthy_taint = node::TaintPolicy::kAll;
    bool mig = false;        // obey nvidia.com/mig.config
    bool placement = false;  // serve what the controller planned, and tell who got what
    std::string mig_config_map = "aliquot-mig-config";
    Drain drain = Drain::kRefuse;
    std::chrono::seconds drain_timeout{300};
    std::string pod_name;     // of the agent: POD_NAME
    bool in_a_pod = false;    // KUBERNETES_SERVICE_HOST is set
    bool node_named = false;  // by flag or NODE_NAME, not by the host's name
    [[nodiscard]] bool wanted() const {
        return mode == Mode::kOn || (mode == Mode::kAuto && in_a_pod && node_named);
    }
};

}  // namespace aliquot::agent
