// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
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

/// The architecture of a GPU that the table does not know.
inline constexpr std::string_view kNotKnown = "not known";

/// A GPU that the table does not know, with the texts that its model points to.
struct UnlistedGpu {
    std::string key;
    std::string name;
    catalog::GpuModel model;
};

/// Equal GPUs of one node (or of equal nodes).
struct GpuPool {
    std::string name;                                // of the node or its type; empty: not said
    const catalog::GpuModel* model = nullptr;        // never null
    unsigned count = 1;                              // GPUs in all
    const catalog::GpuInstance* instance = nullptr;  // a cloud machine; null: own hardware
    unsigned nodes = 1;
    std::string driver;                           // empty: not known
    std::shared_ptr<const UnlistedGpu> unlisted;  // keeps `model`; null: it is of the table
    bool wsl = false;                             // Windows Subsystem for Linux
};

/// Under WSL all GPUs of a machine are one device: they keep nobody apart.
inline bool is_one_device(const GpuPool& pool) { return pool.wsl && pool.count > pool.nodes; }

/// Memory of one GPU as the driver tells it, or as sold when nobody has looked.
double memory_mib(const GpuPool& pool);

/// GiB of "24GB", "24 GiB", "24Gi", "16384MiB", "16384M"; GPUs are sold by GB and mean GiB. Empty: not
/// an amount from 1 MiB to 4096 GiB with its unit.
std::optional<double> gpu_memory_gib(std::string_view text);

/// "gtx-1070", "2x A2", "a100-80 x 4", "NVIDIA A2"; of a card that the table does not know its
/// memory: "24GiB", "rtx-6090 48GB".
/// errors   kNotFound: an unknown model, with the nearest known; kInvalidInput: a count of 0 or
///          above 4096
Result<GpuPool> parse_gpu(std::string_view text);

/// "g4dn.xlarge", "2x g5.12xlarge": all GPUs of that machine.
Result<GpuPool> parse_node_type(std::string_view text);

/// Facts of nodes: a list of {name, gpu, memory, count, type, driver, wsl}, at the top or under `nodes`, or
/// what `kubectl get nodes -o json` prints (labels of gpu-feature-discovery and the instance type).
/// errors   kInvalidInput: "file:line:column: ..."
Result<std::vector<GpuPool>> read_nodes(std::string_view file, std::string_view text);

}  // namespace aliquot::plan
