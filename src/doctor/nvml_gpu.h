// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "doctor/check.h"

/// What the checks of NVML's answers have in common.
namespace aliquot::doctor {

bool answered(const Facts& facts);
/// Why a check of NVML's answers has nothing to judge.
Verdict not_answered(const Facts& facts);
Location place_of(const NvmlGpu& gpu, std::string text);
/// "GPU 0 (0000:3b:00.0)".
std::string name_of(const NvmlGpu& gpu);

/// The first GPU that answers so; nullptr when none does.
template <class Predicate>
const NvmlGpu* first_gpu(const Facts& facts, Predicate predicate) {
    const auto found = std::ranges::find_if(facts.nvml.gpus, predicate);
    return found == facts.nvml.gpus.end() ? nullptr : &*found;
}

}  // namespace aliquot::doctor
