// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"

namespace aliquot::plan {

/// GPUs and replicas of one plan at most.
inline constexpr unsigned kMostGpus = 4096;
inline constexpr unsigned kMostReplicas = 4096;

/// Equal GPUs of one node (or of equal nodes).
struct GpuPool {
    std::string name;                                // of the node or its type; empty: not said
    const catalog::GpuModel* model = nullptr;        // never null
    unsigned count = 1;                              // GPUs in all
    const catalog::GpuInstance* instance = nullptr;  // a cloud machine; null: own hardware
    unsigned nodes = 1;
    std::string driver;  // empty: not known
    bool wsl = false;    // Windows Subsystem for Linux
};

/// Memory of one GPU as the driver tells it, or as sold when nobody has looked.
double memory_mib(const GpuPool& pool);

/// "gtx-1070", "2x A2", "a100-80 x 4", "NVIDIA A2".
/// errors   kNotFound: an unknown model, with the nearest known; kInvalidInput: a count of 0 or
///          above 4096
Result<GpuPool> parse_gpu(std::string_view text);

/// "g4dn.xlarge", "2x g5.12xlarge": all GPUs of that machine.
Result<GpuPool> parse_node_type(std::string_view text);

/// Facts of nodes: a list of {name, gpu, count, type, driver, wsl}, at the top or under `nodes`, or
/// what `kubectl get nodes -o json` prints (labels of gpu-feature-discovery and the instance type).
/// errors   kInvalidInput: "file:line:column: ..."
Result<std::vector<GpuPool>> read_nodes(std::string_view file, std::string_view text);

}  // namespace aliquot::plan
