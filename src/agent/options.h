// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/claim_options.h"
#include "agent/cluster_options.h"
#include "agent/telemetry_options.h"
#include "base/log.h"
#include "base/result.h"
#include "kubelet/device_plugin.h"
#include "labels/labels.h"
#include "sharing/config.h"

namespace aliquot::agent {

/// What the command line and the environment say. NVIDIA's flag and variable names are accepted; an
/// empty optional was given by neither, so the configuration file and then the default apply.
struct Options {
    sharing::Flags flags;
    std::optional<std::vector<unsigned>> imex_channel_ids;
    std::optional<bool> imex_required;
    std::string disabled_health_checks;  // DP_DISABLE_HEALTHCHECKS
    std::string enabled_health_checks;   // DP_ENABLE_HEALTHCHECKS

    std::string config_file;  // host path beneath `root`; empty: no file, all defaults
    sharing::Compatibility compatibility = sharing::Compatibility::kStrict;
    std::string root = "/";  // where this host's file tree lies; every host path is beneath it
    kubelet::KubeletPaths kubelet;
    kubelet::Registration registration = kubelet::Registration::kRegister;
    std::string cdi_directory = "/var/run/cdi";
    std::string state_directory = "/var/lib/aliquot";  // the last good configuration is kept here
    std::string http_listen = "unix:/run/aliquot/agent.sock";  // or 127.0.0.1:PORT, or off
    std::string probe_listen = "off";  // for kubelet's probes: as http::ServerOptions::address
    std::string feature_file;          // host path; labels for node-feature-discovery; empty: none
    std::vector<labels::Profile> label_profiles;
    TelemetryOptions telemetry;  // node: NODE_NAME
    ClusterOptions cluster;
    ClaimOptions claims;
    bool clean_up = false;      // only take away what agents have left (agent/clean_up.h)
    std::string guard_library;  // in our own file tree; empty: beside this program
    bool keep_capabilities = false;
    log::Level log_level = log::Level::kInfo;
    log::Format log_format = log::Format::kText;

    std::chrono::milliseconds probe_interval{2000};        // between questions to each GPU
    std::chrono::milliseconds enumerate_interval{30'000};  // between looks for new GPUs
    std::chrono::milliseconds driver_deadline{5000};       // for one call into the driver
    std::chrono::milliseconds config_interval{1000};  // between looks at the configuration file
};

/// Text to print and the exit code, when the words ask for help or version or are wrong.
struct EarlyExit {
    std::string text;
    int exit_code = 0;
    bool to_stderr = false;
};

/// Reads the command line over the environment (flag wins).
std::variant<Options, EarlyExit> read_options(
    int argc, const char* const* argv, const std::map<std::string, std::string>& environment);

}  // namespace aliquot::agent
