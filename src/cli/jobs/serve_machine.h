// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

/// What `aliquot serve` finds on its machine.
namespace aliquot::cli {

/// A control group (v2) for all jobs, made when it is not there; empty: none can be had.
std::string control_group();

/// Of --socket-group. errors: kInvalidInput: there is no such group
Result<unsigned> group_number(const std::string& name);

/// The full path of what runs containers: of a name, a path, "auto" or "none"; empty: there is none.
std::string container_program(const std::string& word);

}  // namespace aliquot::cli
