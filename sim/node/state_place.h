// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// Where a simulated driver library finds the node it belongs to.
namespace aliquot::sim {

/// node.state of the directory that ALIQUOT_SIM_STATE names, else the nearest one above the library
/// that `code` lies in. Links are not followed, since a node's directory may only hold a link to the
/// library. Empty: there is none.
std::filesystem::path state_file_of_library(const void* code);

}  // namespace aliquot::sim
