// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "admission/gpu_type.h"
#include "admission/pod.h"

namespace aliquot::admission {

/// What is written for one container.
struct GpuRequest {
    std::size_t container = 0;                  // of PodFacts::containers
    std::optional<std::uint64_t> memory_mib{};  // of one device, rounded up; at least 1
    std::optional<unsigned> compute_percent{};  // of one GPU, 1 to 100
    std::optional<unsigned> count{};            // of devices, 1 to 64
    std::vector<GpuType> types{};               // any of them; empty: any GPU

    [[nodiscard]] unsigned devices() const { return count.value_or(1); }
    /// Whether it says which device, not only of what type and how many.
    [[nodiscard]] bool has_size() const { return memory_mib || compute_percent; }
};

/// How much shared memory a container gets at /dev/shm.
struct ShmRequest {
    std::size_t container = 0;
    std::uint64_t bytes = 0;  // 0: none, though there are several GPUs
};

struct GpuRequests {
    std::vector<GpuRequest> gpus;
    std::vector<ShmRequest> shm;
    bool strict = false;  // a pod for which there is nothing is refused
    std::vector<std::string> warnings;
};

/// Reads what a person wrote: annotations (labels count where there is no annotation) named
/// aliquot.dev/gpu-memory, gpu-compute, gpu-type, gpu-count, shm, each also with .<container> at its
/// end, and aliquot.dev/strict. Without a container's name a key is for those containers that have
/// a named one or ask for GPU resources; else for the first one.
///
/// errors   kInvalidInput: a value that is none, a container that is not there, a key that is
///          misspelt; one line that says how to fix it
Result<GpuRequests> read_gpu_requests(const PodFacts& pod, const Cluster& cluster);

}  // namespace aliquot::admission
