// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::catalog {

/// Whether DCGM has a field of this name ("DCGM_FI_DEV_GPU_UTIL"), in any release that we know.
bool is_dcgm_field(std::string_view name);

/// Whether the names of some fields begin so: "DCGM_FI_DEV_ECC".
bool begins_dcgm_field(std::string_view text);

}  // namespace aliquot::catalog
