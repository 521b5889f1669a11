// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "node/config_choice.h"

namespace aliquot::cli {

/// A node that was told to serve a configuration.
struct ConfigWait {
    std::string node;
    std::string key;  // empty: none of its own
    std::optional<node::ConfigStatus> before;
};

/// Waits until the agents of all these nodes say that they serve what they are asked to, and prints
/// a line for each. One that refuses, or says nothing in time, makes exit code 1.
void wait_until_served(Context& context, kube_client::Api& api, const ClusterOptions& words,
                       const std::vector<ConfigWait>& waits, std::chrono::seconds timeout);

/// Whether the agent has answered. Pure.
enum class ConfigAnswer : std::uint8_t {
    kNone,
    kServed,
    kPending,  // served, but for GPUs that pods hold
    kRefused,
};
/// waited   since the label was written: an old refusal of the same key is no answer at once
ConfigAnswer answer_of(const ConfigWait& wait, const std::optional<node::ConfigStatus>& told,
                       std::chrono::milliseconds waited);

}  // namespace aliquot::cli
