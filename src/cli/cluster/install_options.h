// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "cli/command.h"
#include "install/values.h"

namespace aliquot::cli {

/// What the command line says of an installation, before it is looked at.
struct ValueOptions {
    install::Values values;
    std::string profile = "kubeadm";
    std::string gpu_access = "privileged";
    std::vector<std::string> config;         // KEY=FILE, or FILE for the key "default"
    std::string mig_config;                  // FILE
    std::string prices;                      // FILE
    std::vector<std::string> node_selector;  // KEY=VALUE
    std::vector<std::string> tolerations;
    bool no_webhook = false;
    bool no_network_policy = false;
};

/// Adds all flags that say what is installed.
/// words    outlives the parsing
void add_value_options(command_line::Command& command, ValueOptions& words);

/// Reads the files that are named and checks everything. Empty: it was said what is wrong.
std::optional<install::Values> values_of(Context& context, const ValueOptions& words);

}  // namespace aliquot::cli
