// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "sim/cuda_sample/cuda_calls.h"

namespace aliquot::sim {

/// What the CUDA provider of a session holds and does on a GPU, by the CUDA driver that is there.
class GpuArena {
public:
    /// errors   kNotFound, kUnavailable: no driver or no GPU
    static Result<std::unique_ptr<GpuArena>> open(unsigned device, std::uint64_t limit_bytes);
    ~GpuArena();
    GpuArena(const GpuArena&) = delete;
    GpuArena& operator=(const GpuArena&) = delete;

    /// Holds at least so much from now on.
    /// errors   kConflict: over the limit, or the device has no more; in the words of ONNX Runtime
    Result<Done> grow_to(std::uint64_t bytes);
    /// Keeps the device busy so long, and waits for it.
    Result<Done> compute(std::uint64_t ns);

private:
    explicit GpuArena(const CudaCalls& cuda) : cuda_(cuda) {}
    [[nodiscard]] Error error(const char* call, CUresult result) const {
        return cuda_.error(call, result);
    }

    CudaCalls cuda_;
    CUcontext context_ = nullptr;
    CUfunction spin_ = nullptr;
    std::uint64_t limit_bytes_ = 0;
    std::uint64_t held_bytes_ = 0;
    std::vector<CUdeviceptr> blocks_;
};

}  // namespace aliquot::sim
