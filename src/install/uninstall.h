// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "install/values.h"
#include "kube_client/api.h"

namespace aliquot::install {

struct UninstallOptions {
    bool dry_run = false;             // only say what would go
    bool keep_config = false;         // the two ConfigMaps, and with them the namespace, stay
    bool clean_hosts = true;          // a pod on each node takes away what the agent left there
    std::string image;                // of these pods, when no DaemonSet tells it
    std::chrono::seconds limit{120};  // for pods to end, for clean-up, for the namespace: each
    std::function<void(const std::string& step)> progress{};
    std::stop_token stop{};
};

struct CleanedNode {
    std::string name;
    std::vector<std::string> removed;  // from the Node object
    std::string host;                  // "cleaned", "not cleaned: <why>"; empty: no agent ran there
};

struct UninstallResult {
    std::vector<std::string> removed;  // "DaemonSet aliquot-system/aliquot-agent"
    std::vector<CleanedNode> nodes;    // by name
    std::vector<std::string> kept;     // because it was wished
    std::vector<std::string> remains;  // what is left, and what takes it away
    std::vector<std::string> problems;
};

/// Takes everything away again: the agents, what they left on hosts, what they wrote on Nodes, then
/// every object with our label. Each step goes on after a failure of the one before; what is gone
/// already is no failure, so it may be called again until nothing is left.
UninstallResult uninstall(kube_client::Api& api, const UninstallOptions& options);

}  // namespace aliquot::install
