// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "nvml/driver.h"

namespace aliquot::command_line {
class Command;
class Option;
}  // namespace aliquot::command_line

/// Which driver a command asks. Here alone does the product know the simulator: a person who tries
/// `aliquot sim up` points at the node's directory, and that is a root with a driver library in it; all
/// below takes a root and a library, whoever made them.
namespace aliquot::cli {

struct DriverChoice {
    std::string node_state;  // directory of a simulated node; empty: this machine
    std::string
        driver_root;  // where the driver is installed, or its library; empty: the usual places
};

struct DriverFlags {
    command_line::Option* node_state;
    command_line::Option* driver_root;
};

/// Adds --node-state and --driver-root, which exclude each other.
/// choice   outlives the parsing
DriverFlags add_driver_flags(
    command_line::Command& command, DriverChoice& choice,
    const std::string& node_help = "Directory of a simulated node (aliquot sim up)",
    const std::string& root_help =
        "Where the driver is installed, or its libnvidia-ml.so.1 itself");

/// The root of the chosen host: "/", or the node's directory, absolute.
std::filesystem::path host_of(const DriverChoice& choice);

/// How to open the chosen driver below host_of().
nvml::DriverOptions driver_options(const DriverChoice& choice);

/// The same below "/".
nvml::DriverOptions driver_options_below_root(const DriverChoice& choice);

/// The simulated node of the calling shell (aliquot sim env); empty: none.
std::string node_of_shell();

/// Lets a program find the simulated node and its driver; nothing to do on a real one.
void point_at_node(const DriverChoice& choice, std::map<std::string, std::string>& environment);

}  // namespace aliquot::cli
