// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cost/price.h"
#include "k8s/label_selector.h"

namespace aliquot::controller {

/// What the costs know of a pod, of the API server.
struct PodFacts {
    std::string queue;
    std::string user;
    std::string job;
    std::string workflow;
    std::string node;
    bool ended = false;
    struct Container {
        std::uint32_t cpu_milli = 0;
        std::uint32_t memory_mib = 0;
    };
    std::map<std::string, Container> containers;
    friend bool operator==(const PodFacts&, const PodFacts&) = default;
};
std::string queue_of(const k8s::Labels& labels);
std::string user_of(const k8s::Labels& labels);
/// The queue is the label kueue.x-k8s.io/queue-name (else aliquot.dev/queue), the user the label aliquot.dev/user, the job
/// the owner that is a Job or the pod's other controller, the workflow the label workflows.argoproj.io/workflow or
/// aliquot.dev/workflow. Of any text.
PodFacts pod_facts(std::string_view json);

/// What the costs know of a node, of the API server.
struct NodeFacts {
    cost::Machine machine;
    std::uint32_t cpu_milli = 0;
    std::uint32_t memory_mib = 0;
    bool ready = false;
    bool cordoned = false;
};
NodeFacts node_facts(std::string_view json);

}  // namespace aliquot::controller
