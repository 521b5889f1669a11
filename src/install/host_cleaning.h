// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <stop_token>
#include <string>

#include "install/values.h"
#include "kube_client/api.h"

namespace aliquot::install {

/// What became of the agent's files on one host.
struct HostAnswer {
    bool clean = false;
    std::string why;      // it is not: what the clean-up said, or why it did not run
    std::string remains;  // what is left there, and what takes it away
};

/// Runs `aliquot-agent --clean-up` on each node, by a pod that ends; all at once, and each until it succeeds, says
/// that only running containers hold it up, or `limit` has passed. Makes the namespace when an earlier uninstall has
/// removed it. The pods are gone when it returns.
std::map<std::string, HostAnswer> clean_hosts(kube_client::Api& api, const Values& values,
                                              const std::set<std::string>& nodes,
                                              std::chrono::seconds limit,
                                              const std::stop_token& stop);

}  // namespace aliquot::install
