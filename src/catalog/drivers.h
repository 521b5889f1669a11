// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "catalog/version.h"

namespace aliquot::catalog {

/// A CUDA toolkit and the Linux driver that came with it.
struct CudaDriver {
    Version cuda;              // 12.8.1
    std::string_view driver;   // "570.124.06"
    Version driver_version;    // the same, to compare
    bool from_memory = false;  // the row was not seen in a release note
};

/// All of them, oldest first.
std::span<const CudaDriver> cuda_drivers();

/// The driver that runs everything of this toolkit: the row itself, or the newest row of the same
/// minor version that is not newer; nullptr when the minor version is not known.
const CudaDriver* own_driver(const Version& cuda);

/// The oldest driver that runs programs of this major version at all (minor-version
/// compatibility): 11 is "450.80.02", 12 is "525.60.13", 13 is "580.65.06"; empty for others.
std::string_view driver_floor(unsigned cuda_major);

/// The newest CUDA version that a driver runs in full; nullptr when it is older than the table.
const CudaDriver* newest_cuda(const Version& driver);

/// A line of drivers: all 535.* are branch 535.
struct DriverBranch {
    unsigned branch = 0;
    std::string_view kind;  // "long-term", "production", "new-feature", "legacy"
    std::string_view end;   // "2026-06": no fixes after that month; empty: not known
    std::string_view cuda;  // "12.2": newest CUDA it runs in full; empty: not known
    std::string_view note;

    /// Whether there are no more fixes in the month of `today` ("2026-11-20" or "2026-11").
    [[nodiscard]] bool ended(std::string_view today) const {
        return !end.empty() && today.substr(0, end.size()) > end;
    }
};

/// nullptr: not in the table.
const DriverBranch* find_driver_branch(unsigned branch);

}  // namespace aliquot::catalog
