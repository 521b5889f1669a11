// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/host/driver_choice.h"
#include "gpu/inventory.h"
#include "job_server/costs.h"

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

/// What `aliquot serve` is told of costs.
struct CostWords {
    std::string store;   // file, postgresql://..., "off"; empty: cost.sqlite beside the journal
    std::string prices;  // file; empty: none
    std::string type;    // of the machine, as clouds call it; empty: as it describes itself
    bool spot = false;
};

/// words   outlives the parsing
void add_cost_flags(command_line::Command& command, CostWords& words);

/// Null: costs are off.
/// driver      empty: its GPUs are simulated, nothing is measured
/// inventory   of the same GPUs
Result<std::unique_ptr<job_server::Costs>> serve_costs(const CostWords& words,
                                                       const std::string& state,
                                                       std::vector<job_server::Device> devices,
                                                       const DriverChoice* driver,
                                                       const gpu::Inventory& inventory);

/// Where in an inventory a MIG device is, and its part of the GPU.
void tell_parents(const gpu::Inventory& inventory, std::vector<job_server::Device>& devices);

}  // namespace aliquot::cli
