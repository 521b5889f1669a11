// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_instances.h"

namespace aliquot::sizing {

/// What one pod asks of a node.
struct PodNeed {
    double cpu = 0;  // cores
    double memory_mib = 0;
    unsigned gpus = 1;
    std::string gpu;            // a model as a person writes it; empty: any
    double gpu_memory_mib = 0;  // of each GPU; 0: any
};

/// What every node gives away before the pod comes.
struct DaemonSets {
    double cpu = 0.1;
    double memory_mib = 256;
};

/// What a node leaves for pods.
struct Allocatable {
    double cpu = 0;
    double memory_mib = 0;
    bool estimated = false;  // the table does not tell; reckoned by kubelet's usual reservation
};

/// Whether a machine has the GPU that a person names: "a100" means both sizes, "a100-80" one.
bool has_gpu(const catalog::GpuInstance& instance, std::string_view gpu);

Allocatable allocatable_of(const catalog::GpuInstance& instance);

/// One reason why a machine does not take a pod.
struct Shortfall {
    std::string resource;   // "cpu", "memory", "gpu", "gpu memory", "gpu model"
    std::string needed;     // "4.1 (4 and 0.1 for daemon sets)"
    std::string available;  // "3.92"
};

struct FittingInstance {
    const catalog::GpuInstance* instance = nullptr;
    Allocatable allocatable;
};

struct RefusedInstance {
    const catalog::GpuInstance* instance = nullptr;
    std::vector<Shortfall> reasons;
};

/// Which machines take a pod. Cheapest first; of equal price the one whose allocatable is known.
struct InstanceChoice {
    std::vector<FittingInstance> fitting;
    std::vector<RefusedInstance> cheaper;  // cheaper than fitting[0], with this GPU: and why not
    std::vector<Shortfall> never;          // when nothing fits: what no machine has
};

/// cloud   "aws", "azure", "gcp"; empty: all
/// type    only this machine; empty: all
/// errors  kNotFound: an unknown GPU or machine, with the nearest known name; kInvalidInput
Result<InstanceChoice> choose_instance(const PodNeed& need, const DaemonSets& daemon_sets,
                                       std::string_view cloud, std::string_view type);

/// Why a machine does not take the pod; empty: it does.
std::vector<Shortfall> shortfalls(const catalog::GpuInstance& instance, const PodNeed& need,
                                  const DaemonSets& daemon_sets);

}  // namespace aliquot::sizing
