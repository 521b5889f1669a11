// SPDX-License-Identifier: Apache-2.0
#include "sim/onnxruntime/gpu_arena.h"

#include <array>
#include <string>

namespace aliquot::sim {
namespace {

constexpr const char* kImage = "aliquot-kernels 1\nkernel spin\n";

}  // namespace

Result<std::unique_ptr<GpuArena>> GpuArena::open(unsigned device, std::uint64_t limit_bytes) {
    const auto found = CudaCalls::find();
    if (!found) return found.error();
    if (const auto result = found->init(0)) return found->error("cuInit", result);
    std::unique_ptr<GpuArena> arena(new GpuArena(*found));
    arena->limit_bytes_ = limit_bytes;
    if (const auto result = found->retain(&arena->context_, static_cast<CUdevice>(device)))
        return found->error("cuDevicePrimaryCtxRetain", result);
    if (const auto result = found->set_current(arena->context_))
        return found->error("cuCtxSetCurrent", result);
    CUmodule module = nullptr;
    if (const auto result = found->load(&module, kImage))
        return found->error("cuModuleLoadData", result);
    if (const auto result = found->function(&arena->spin_, module, "spin"))
        return found->error("cuModuleGetFunction", result);
    return arena;
}

GpuArena::~GpuArena() {
    (void)cuda_.set_current(context_);
    for (const CUdeviceptr block : blocks_) (void)cuda_.free(block);
}

Result<Done> GpuArena::grow_to(std::uint64_t bytes) {
    if (bytes <= held_bytes_) return Done{};
    const std::uint64_t more = bytes - held_bytes_;
    const Error full{
        ErrorCode::kConflict,
        "Failed to allocate memory for requested buffer of size " + std::to_string(more)};
    if (limit_bytes_ > 0 && bytes > limit_bytes_) return full;
    if (const auto result = cuda_.set_current(context_)) return error("cuCtxSetCurrent", result);
    CUdeviceptr block = 0;
    const auto result = cuda_.allocate(&block, more);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return full;
    if (result != CUDA_SUCCESS) return error("cuMemAlloc", result);
    blocks_.push_back(block);
    held_bytes_ = bytes;
    return Done{};
}

Result<Done> GpuArena::compute(std::uint64_t ns) {
    if (const auto result = cuda_.set_current(context_)) return error("cuCtxSetCurrent", result);
    std::array<void*, 1> arguments{&ns};
    if (const auto result =
            cuda_.launch(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr))
        return error("cuLaunchKernel", result);
    if (const auto result = cuda_.synchronize()) return error("cuCtxSynchronize", result);
    return Done{};
}

}  // namespace aliquot::sim
