// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pools/pool.h"

/// Machines that are there and can be turned on and off, as node groups of Cluster Autoscaler: its externalgrpc calls,
/// answered from memory, and the commands behind them.
namespace aliquot::node_groups {

struct Machine {
    std::string name;                           // of its Node
    std::map<std::string, std::string> values;  // for {NAME} in commands: "mac", "bmc"
};

/// How machines are turned on and off: programs with their arguments, no shell.
struct Power {
    std::vector<std::string> start;
    std::vector<std::string> stop;
    std::chrono::seconds timeout{30};  // of one command
    unsigned tries = 3;
};

/// One node group: a pool of engine `external`, and its machines.
struct Group {
    pools::Pool pool;
    std::vector<Machine> machines;
    Power power;
};

/// Reads a file of two documents for each group: a Pool, and a Machines document of the same name.
///     kind: Machines
///     metadata: {name: lab}
///     spec:
///       start: [wakeonlan, "{mac}"]
///       stop: [ssh, "root@{name}", poweroff]
///       timeout: 30s
///       machines: [{name: gpu-a, mac: "3c:ec:ef:00:00:01"}]
/// errors   kInvalidInput: all problems, a line each with line and column
Result<std::vector<Group>> read_groups(std::string_view file, std::string_view text);

/// The command for one machine: {name} and {KEY} are replaced inside of arguments.
/// errors   kInvalidInput: a {KEY} that the machine has no value for
Result<std::vector<std::string>> command_for(const std::vector<std::string>& words,
                                             const Machine& machine);

/// "aliquot://lab/gpu-a": what kubelet of the machine must have as --provider-id.
std::string provider_id(std::string_view group, std::string_view machine);

}  // namespace aliquot::node_groups
