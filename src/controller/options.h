// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/claim_pins.h"
#include "controller/cluster_costs.h"
#include "controller/cluster_page.h"
#include "controller/credentials.h"
#include "controller/idle_jobs.h"
#include "controller/job_api.h"
#include "controller/job_work.h"
#include "controller/pod_placement.h"
#include "controller/pool_role.h"

namespace aliquot::controller {

struct Options {
    std::string namespace_name = "aliquot-system";
    std::string service = "aliquot-webhook";
    std::string secret = "aliquot-webhook";
    std::string lease = "aliquot-controller";
    std::string webhook_configuration = "aliquot";
    std::vector<std::string> certificate_names;  // beside the service's: "DNS:x", "IP:10.0.0.7"
    std::string webhook_listen = ":8443";
    std::string webhook_client_ca;                  // file; empty: whoever asks is answered
    std::vector<std::string> webhook_client_names;  // common names; empty: all of that authority
    std::string health_listen = ":8081";
    std::string kubeconfig;
    std::string context;
    std::string runtime_class;
    Lifetimes lifetimes;
    std::chrono::seconds drain{5};
    /// How long a leader that is gone is waited for; renewed after two thirds at the latest.
    std::chrono::seconds lease_duration{15};
    PlacementOptions placement;
    ClaimPinOptions claims;
    PoolOptions pools;
    JobOptions jobs;
    JobApiOptions job_api;
    IdleOptions idle;
    PageOptions page;
    CostOptions cost;
    std::string identity;  // for the Lease; empty: the host's name with something random
    log::Level log_level = log::Level::kInfo;
    log::Format log_format = log::Format::kText;

    /// What the certificate is for, sorted.
    [[nodiscard]] std::vector<std::string> all_names() const;
};

/// What to print instead of running: --help, --version, or what is wrong.
struct EarlyExit {
    std::string text;
    int exit_code = 0;
    bool to_stderr = false;
};

std::variant<Options, EarlyExit> read_options(
    int argc, const char* const* argv, const std::map<std::string, std::string>& environment);

/// "90s", "5m", "8760h", "30d"; at most ten years.
/// errors   kInvalidInput
Result<std::chrono::seconds> parse_duration(std::string_view text);

}  // namespace aliquot::controller
