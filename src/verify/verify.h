// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "kube_client/api.h"
#include "verify/step.h"

namespace aliquot::verify {

struct Options {
    std::string agent_namespace = "aliquot-system";
    std::string space = "aliquot-verify";  // made, and removed at the end
    std::string node;                      // empty: every node with GPUs
    std::string image;                     // empty: the one that the agent runs
    std::string runtime_class;
    /// Pod Security level of the namespace; empty: the strictest that the test pods fit.
    std::string pod_security;
    unsigned user = 65532;                  // of the test pods
    std::chrono::seconds pod_timeout{300};  // until a test pod has answered
    std::chrono::milliseconds look_every{500};
    std::chrono::milliseconds request_deadline{30'000};
    unsigned nodes_at_once = 4;
    unsigned metrics_port = 9400;
};

/// Runs all steps: nodes, agent, then for each node its labels and for each of its resources a test
/// pod that must see one GPU, compute right, and be held to its share; a second one beside it
/// where the GPU is shared; and the agent's metrics with the pod's name. Makes a namespace and
/// removes it with all in it, also when `stop` ends it early.
///
/// on_step   called with each step as it is done, from several threads, one at a time; may be empty
Report run(kube_client::Api& api, const Options& options, std::stop_token stop,
           const std::function<void(const Step&)>& on_step = {});

}  // namespace aliquot::verify
