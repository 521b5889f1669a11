// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "guard_region/ledger.h"
#include "guard_region/limits.h"

namespace aliquot::guard_region {

/// What a config says, by who may only read it.
/// errors   kNotFound, kPermission; kInvalidInput: not a config of this version
Result<Settings> read_config(const std::filesystem::path& file);

/// As apply_truth() of the config in `file`; nothing where there is none.
void apply_truth(const std::filesystem::path& file, LedgerView& ledger);

/// The devices that a ledger names, without limits: for a region that has no config.
std::vector<Limits> devices_in(const LedgerView& ledger);

}  // namespace aliquot::guard_region
