// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "guard_region/runs.h"

namespace aliquot::cli {

/// A GPU or MIG device that `aliquot run` can give to a program.
struct RunDevice {
    std::string index;  // "0", of a MIG device "0:1"
    std::string uuid;
    std::string model;
    std::uint64_t memory_bytes = 0;
    std::uint64_t context_bytes = 0;  // how much a context takes, probably
};

/// All of a machine; a GPU in MIG mode only by its MIG devices.
std::vector<RunDevice> devices_of(const gpu::Inventory& inventory);

/// The one that was asked for, else, of those that CUDA_VISIBLE_DEVICES leaves, the one with the
/// most memory that no other run has.
/// wanted   index or UUID; empty: any
/// errors   kInvalidInput: no such device; kNotFound: none at all
Result<RunDevice> choose_device(const std::string& wanted, const std::vector<RunDevice>& all,
                                const std::map<std::string, std::string>& environment,
                                const std::vector<guard_region::Run>& living);

}  // namespace aliquot::cli
