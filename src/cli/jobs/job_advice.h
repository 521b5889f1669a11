// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jobs/request.h"

namespace aliquot::cli {

/// What the files among a job's program and arguments say of the GPU that it needs, as one line for who named none; empty:
/// they say nothing, or what it gets anyway. Nothing is changed by it.
std::string gpu_advice(const jobs::Request& request);

}  // namespace aliquot::cli
