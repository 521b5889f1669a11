// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/mig_profiles.h"

/// Whether MIG instances fit on one GPU: an exact search over the placements of the catalogue.
namespace aliquot::lint {

using Profiles = std::vector<const catalog::MigProfile*>;

/// Families of the catalogue: "a100-40", "h100-80", ...
std::vector<std::string_view> mig_families();

/// All profiles of one family that a word of `nvidia-smi mig -cgi` or a key of `mig-devices` means:
/// an id ("19") or a name ("1g.5gb", "1g.5gb+me"); nullptr: none.
const catalog::MigProfile* find_in_family(std::string_view family, std::string_view word);

/// Whether the instances can be there at the same time. All of one family.
bool fit_together(const Profiles& instances);

/// The profile with this name, or one that differs by what drivers report differently (93 for 95
/// GB), on some GPU.
bool is_known_profile(std::string_view name);

}  // namespace aliquot::lint
