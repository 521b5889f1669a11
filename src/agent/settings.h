// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/options.h"
#include "base/result.h"
#include "sharing/config.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// What holds after flag, environment, file and default, in that order.
struct Settings {
    sharing::Config config;  // its flags are the merged ones
    bool fail_on_init_error = true;
    std::string driver_root = "/";      // host path
    std::string container_driver_root;  // where the driver root is mounted here, if it is
    std::string dev_root = "/";
    sharing::AllocationPolicy policy = sharing::AllocationPolicy::kDistributed;
    sharing::GrantOptions grant;  // without control_nodes, which are found on the host
    [[nodiscard]] bool uses_cdi() const;
};

/// Merges. Pure.
/// errors   kUnsupported: tegra; GDRCopy, GDS or MOFED by CDI (our CDI file has no such devices)
Result<Settings> settle(const Options& options, const sharing::Config& config);

}  // namespace aliquot::agent
