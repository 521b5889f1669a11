// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/check.h"

/// What the checks of speed have in common: what was measured of what is asked about.
namespace aliquot::doctor {

/// Whether anything was measured, by an agent or by NVML.
bool measured(const Facts& facts);
/// Why a check of speed has nothing to judge.
Verdict not_measured(const Facts& facts);

/// The containers that are asked about: of the pod (and its container), of the process, else all.
std::vector<const ShareUse*> asked_shares(const Facts& facts);
/// The GPUs that these use; of a pod or a process of which nothing is known, none.
std::vector<const NvmlGpu*> asked_gpus(const Facts& facts);
/// The GPU of a share; nullptr: not measured.
const NvmlGpu* gpu_of(const Facts& facts, const ShareUse& share);

/// "ml/train (main)", "process 4711 (python3)".
std::string name_of(const ShareUse& share);
/// "38 %".
std::string percent_text(double part);
Evidence seen(const NvmlGpu& gpu, std::string value, std::string expected = {});

}  // namespace aliquot::doctor
