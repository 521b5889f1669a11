// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jobs/request.h"

namespace aliquot::jobs {

inline constexpr std::string_view kDefaultGpuType = "v100";

/// CPU and memory of a container, as quantities of Kubernetes.
struct Amounts {
    std::string memory;  // "16Gi"
    std::string cpu;     // "8000m"
    friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// What a job on one GPU of this type may use at most, where it does not say: memory as the GPU has, rounded down to
/// a power of two, 8Gi to 128Gi; a core for every 2Gi, at most 16. "any" and unknown ones are as v100.
Amounts preset_of(std::string_view gpu_type);

/// The request's own limits, else its type's.
Amounts limits_of(const Request& request);

/// Half of the limits, which a node must have free. Exact.
Amounts requests_of(const Amounts& limits);

/// The value of the node label `accelerator`: "nvidia-tesla-v100"; empty: any node.
std::string accelerator_of(std::string_view gpu_type);

}  // namespace aliquot::jobs
