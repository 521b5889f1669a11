// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "sim/cluster/scheduler.h"

namespace aliquot::up {

/// What `aliquot up` was asked for.
struct UpOptions {
    std::vector<std::string> gpus;
    std::vector<std::string> mig;        // [GPU=]LAYOUT: how simulated GPUs are cut
    std::string metrics_listen = "off";  // as of aliquot-agent
    std::string page = "off";            // where the web page is
    std::string page_web_config;         // TLS and passwords for it; empty: none
    std::string config_file;             // empty: no sharing
    std::vector<std::string> manifests;  // files, folders, "-"
    bool once = false;
    std::string format = "table";  // or "json", "yaml"
    std::optional<std::chrono::seconds> timeout;
    sim::cluster::Labels node_labels;
    std::string state;
    bool keep = false;
};

/// Runs it; sets context.exit_code. Returns when told to end, when every pod has ended, or, with
/// `once`, when every pod runs, has ended or is known to wait. Everything it started is gone then.
void run_up(const UpOptions& options, cli::Context& context);

}  // namespace aliquot::up
