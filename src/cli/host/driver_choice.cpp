// SPDX-License-Identifier: Apache-2.0
#include "cli/host/driver_choice.h"

#include <cstdlib>

#include "command_line/command.h"

namespace aliquot::cli {
namespace {

constexpr const char* kNodeVariable = "ALIQUOT_SIM_STATE";
constexpr const char* kLibrary = "/lib/libnvidia-ml.so.1";  // below a node's directory

}  // namespace

DriverFlags add_driver_flags(command_line::Command& command, DriverChoice& choice,
                             const std::string& node_help, const std::string& root_help) {
    command_line::Option* node =
        command.add_option("--node-state", choice.node_state, node_help, "DIR");
    command_line::Option* root =
        command.add_option("--driver-root", choice.driver_root, root_help, "DIR")->excludes(node);
    return {.node_state = node, .driver_root = root};
}

std::filesystem::path host_of(const DriverChoice& choice) {
    return choice.node_state.empty() ? "/" : std::filesystem::absolute(choice.node_state);
}

nvml::DriverOptions driver_options(const DriverChoice& choice) {
    nvml::DriverOptions options;
    if (!choice.node_state.empty()) {
        options.driver_root = kLibrary;
    } else if (!choice.driver_root.empty()) {
        options.driver_root = choice.driver_root;
    }
    return options;
}

nvml::DriverOptions driver_options_below_root(const DriverChoice& choice) {
    nvml::DriverOptions options = driver_options(choice);
    if (!choice.node_state.empty()) options.driver_root = host_of(choice).native() + kLibrary;
    return options;
}

std::string node_of_shell() {
    const char* const node =
        std::getenv(kNodeVariable);  // NOLINT(concurrency-mt-unsafe): one thread
    return node == nullptr ? "" : node;
}

void point_at_node(const DriverChoice& choice, std::map<std::string, std::string>& environment) {
    if (choice.node_state.empty()) return;
    const std::filesystem::path node = host_of(choice);
    environment[kNodeVariable] = node;
    std::string& path = environment["LD_LIBRARY_PATH"];
    path = path.empty() ? (node / "lib").native() : (node / "lib").native() + ":" + path;
}

}  // namespace aliquot::cli
