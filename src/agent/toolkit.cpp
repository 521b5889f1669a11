// SPDX-License-Identifier: Apache-2.0
#include "agent/toolkit.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "node/names.h"

namespace aliquot::agent {
namespace {

// Where gpu-operator's validator and its toolkit container leave word.
constexpr std::string_view kValidations = "/run/nvidia/validations";
constexpr std::string_view kValidated = "/run/nvidia/validations/toolkit-ready";
constexpr std::string_view kOfOperator = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
// What packages and images of operating systems install.
constexpr std::array<std::string_view, 3> kOfHost{
    "/usr/bin/nvidia-container-runtime", "/etc/nvidia-container-runtime/config.toml",
    "/run/current-system/sw/bin/nvidia-container-runtime"};

/// The host's tree as it is seen from here; empty: it is not.
std::optional<os::Root> host_of(const os::Root& root, const Settings& settings) {
    const bool mounted =
        !settings.container_driver_root.empty() && root.exists(settings.container_driver_root);
    if (mounted && settings.driver_root != "/") return std::nullopt;
    os::Root host = mounted ? os::Root(root.resolve(settings.container_driver_root)) : root;
    // A tree without a system in it is not a host.
    const bool is_host = host.exists("/etc/os-release") || host.exists("/usr/lib/os-release");
    return is_host ? std::optional(std::move(host)) : std::nullopt;
}

node::Condition condition(bool good, const char* reason, std::string message) {
    return {.type = node::kGpuToolkitReady,
            .good = good,
            .reason = reason,
            .message = std::move(message)};
}

}  // namespace

std::optional<node::Condition> toolkit_condition(const os::Root& root, const Settings& settings,
                                                 bool by_claims) {
    if (by_claims || settings.uses_cdi()) {
        return condition(true, "CdiServed",
                         "containers get their GPUs by CDI: the container toolkit is not needed");
    }
    const auto host = host_of(root, settings);
    if (!host) return std::nullopt;
    if (host->exists(kValidated)) {
        return condition(true, "ToolkitValidated",
                         "gpu-operator has validated the container toolkit");
    }
    const auto* const found =
        std::ranges::find_if(kOfHost, [&](std::string_view path) { return host->exists(path); });
    if (found != kOfHost.end()) {
        return condition(true, "ToolkitInstalled",
                         "the container toolkit is installed: " + std::string(*found));
    }
    // What gpu-operator's container left there before the node was started anew counts when it is validated again.
    if (host->exists(kValidations)) {
        return condition(
            false, "ToolkitNotValidated",
            "gpu-operator has not validated the container toolkit: " + std::string(kValidated) +
                " is missing; kubectl logs of its nvidia-operator-validator tells why");
    }
    if (host->exists(kOfOperator)) {
        return condition(true, "ToolkitInstalled",
                         "the container toolkit is installed: " + std::string(kOfOperator));
    }
    return condition(false, "ToolkitMissing",
                     "containers get their GPUs by NVIDIA's container toolkit, and there is no " +
                         std::string(kOfHost[0]) +
                         "; install nvidia-container-toolkit, or hand GPUs out by "
                         "--device-list-strategy=cdi-cri");
}

}  // namespace aliquot::agent
