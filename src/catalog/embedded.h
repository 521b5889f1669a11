// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Facts that ship with the program: GPU models, MIG profiles, drivers, errors, cloud machines.
/// Every table is a text of data/, compiled in, and says its date and its source at the top.
namespace aliquot::catalog {

extern const std::string_view kCudaDriverTable;
extern const std::string_view kDcgmFieldTable;
extern const std::string_view kDriverBranchTable;
extern const std::string_view kGpuImageTable;
extern const std::string_view kGpuInstanceTable;
extern const std::string_view kGpuModelTable;
extern const std::string_view kMigProfileTable;
extern const std::string_view kModelTable;
extern const std::string_view kXidTable;

}  // namespace aliquot::catalog
