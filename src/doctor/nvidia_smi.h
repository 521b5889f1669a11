// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "doctor/facts.h"

namespace aliquot::doctor {

/// Adds what a text that nvidia-smi printed tells: the table, -L, -q, or an error. What `nvml` knows
/// already stays.
void read_nvidia_smi(NvmlFacts& nvml, const std::string& path, const std::string& text);

}  // namespace aliquot::doctor
