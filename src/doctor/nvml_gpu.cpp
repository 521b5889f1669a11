// SPDX-License-Identifier: Apache-2.0
#include "doctor/nvml_gpu.h"

#include <utility>

namespace aliquot::doctor {

bool answered(const Facts& facts) { return facts.nvml.state == NvmlFacts::State::kOk; }

Verdict not_answered(const Facts& facts) {
    if (facts.nvml.state == NvmlFacts::State::kUnknown) return unknown(facts.nvml.reason);
    return not_here("NVML gave no answer");
}

Location place_of(const NvmlGpu& gpu, std::string text) {
    return {gpu.place.path, gpu.place.line, std::move(text)};
}

std::string name_of(const NvmlGpu& gpu) {
    if (gpu.index >= 1000) return gpu.address.empty() ? "a GPU" : "GPU " + gpu.address;
    return "GPU " + std::to_string(gpu.index) +
           (gpu.address.empty() ? "" : " (" + gpu.address + ")");
}

}  // namespace aliquot::doctor
