// SPDX-License-Identifier: Apache-2.0
// Entry points that launch kernels.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/host_calls.h"
#include "sim/cuda/kernel.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

namespace aliquot::sim {

void run_kernel(CUstream_st& stream, Launch launch) {
    const Work work = work_of(*stream.context->device, launch);
    if (!has_effect(*launch.function)) {
        submit(stream, work, {});
        return;
    }
    CUctx_st* const context = stream.context;
    submit(stream, work, [context, launch = std::move(launch)] {
        if (const CUresult result = compute(launch); result != CUDA_SUCCESS)
            context->error = result;
    });
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

constexpr unsigned kMostBlockThreads = 1024;
constexpr std::array<unsigned, 3> kMostGrid = {0x7fffffff, 65535, 65535};
constexpr std::array<unsigned, 3> kMostBlock = {1024, 1024, 64};

inline bool plausible(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
    bool right = true;
    for (std::size_t i = 0; i < 3; ++i) {
        right = right && grid[i] - 1 < kMostGrid[i] && block[i] - 1 < kMostBlock[i];
    }
    return right && block[0] * block[1] * block[2] <= kMostBlockThreads;
}

CUresult launch(CUfunction function, const std::array<unsigned, 3>& grid,
                const std::array<unsigned, 3>& block, CUstream handle, bool per_thread,
                void** parameters, void** extra) {
    const Current current = current_context();
    if (!current) [[unlikely]]
        return current.result;
    if (!valid(function)) [[unlikely]]
        return CUDA_ERROR_INVALID_HANDLE;
    if (!plausible(grid, block)) [[unlikely]]
        return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) [[unlikely]]
        return CUDA_ERROR_INVALID_HANDLE;
    const bool capturing = stream->capture.load(std::memory_order_relaxed) != nullptr;
    Arguments arguments = read_arguments(*function, parameters, extra);
    if (arguments.result != CUDA_SUCCESS) return arguments.result;
    Launch what{.function = function,
                .grid = grid,
                .block = block,
                .arguments = std::move(arguments.bytes)};
    if (capturing) return capture_kernel(*stream, std::move(what));
    if (const auto barred = barred_in_legacy(*stream); barred != CUDA_SUCCESS) return barred;
    run_kernel(*stream, std::move(what));
    return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig* config, CUfunction function, bool per_thread,
                void** parameters, void** extra) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ}, config->hStream,
                  per_thread, parameters, extra);
}

CUresult launch_shaped(CUfunction function, int width, int height, CUstream stream) {
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!valid(function)) return CUDA_ERROR_INVALID_HANDLE;
    return launch(function, {static_cast<unsigned>(width), static_cast<unsigned>(height), 1},
                  {function->block[0], function->block[1], function->block[2]}, stream, false,
                  nullptr, nullptr);
}

CUresult call_host(CUstream handle, bool per_thread, void (*function)(void*), void* data) {
    const Current current = current_context();
    if (!current) return current.result;
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture.load() != nullptr) return capture_host_call(*stream, function, data);
    add_host_call(*stream, [function, data] { function(data); });
    return CUDA_SUCCESS;
}

using StreamCallback = void (*)(CUstream, CUresult, void*);

CUresult add_callback(CUstream handle, bool per_thread, StreamCallback callback, void* data,
                      unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto barred = barred_by_capture(*stream); barred != CUDA_SUCCESS) return barred;
    add_host_call(*stream, [callback, handle, data, context = current.context] {
        callback(handle, context->error.load(), data);
    });
    return CUDA_SUCCESS;
}

CUresult set_parameter(CUfunction function, int offset, const void* value, std::size_t size) {
    constexpr std::size_t kMostParameterBytes = 4096;
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(function)) return CUDA_ERROR_INVALID_HANDLE;
    const auto begin = static_cast<std::size_t>(offset);
    if (offset < 0 || value == nullptr || begin + size > kMostParameterBytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (function->parameters.size() < begin + size) function->parameters.resize(begin + size);
    std::memcpy(function->parameters.data() + begin, value, size);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int,
                        CUstream stream, void** params, void** extra) {
    called(__func__);
    return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, false, params, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                             unsigned int bx, unsigned int by, unsigned int bz, unsigned int,
                             CUstream stream, void** params, void** extra) {
    called(__func__);
    return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, true, params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
    called(__func__);
    return launch(config, f, false, params, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** params,
                               void** extra) {
    called(__func__);
    return launch(config, f, true, params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                   unsigned int bx, unsigned int by, unsigned int bz, unsigned int,
                                   CUstream stream, void** params) {
    called(__func__);
    return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, false, params, nullptr);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                        unsigned int gz, unsigned int bx, unsigned int by,
                                        unsigned int bz, unsigned int, CUstream stream,
                                        void** params) {
    called(__func__);
    return launch(f, {gx, gy, gz}, {bx, by, bz}, stream, true, params, nullptr);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned int count,
                                              unsigned int) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        const CUDA_LAUNCH_PARAMS& one = list[i];
        const CUresult result = launch(one.function, {one.gridDimX, one.gridDimY, one.gridDimZ},
                                       {one.blockDimX, one.blockDimY, one.blockDimZ}, one.hStream,
                                       false, one.kernelParams, nullptr);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

CUresult cuLaunch(CUfunction f) {
    called(__func__);
    return launch_shaped(f, 1, 1, nullptr);
}

CUresult cuLaunchGrid(CUfunction f, int width, int height) {
    called(__func__);
    return launch_shaped(f, width, height, nullptr);
}

CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
    called(__func__);
    return launch_shaped(f, width, height, stream);
}

CUresult cuFuncSetBlockShape(CUfunction f, int x, int y, int z) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(f)) return CUDA_ERROR_INVALID_HANDLE;
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    f->block[0] = static_cast<unsigned>(x);
    f->block[1] = static_cast<unsigned>(y);
    f->block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction f, unsigned int bytes) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(f)) return CUDA_ERROR_INVALID_HANDLE;
    f->shared_bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction f, unsigned int bytes) {
    called(__func__);
    constexpr unsigned kMostParameterBytes = 4096;
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(f)) return CUDA_ERROR_INVALID_HANDLE;
    if (bytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
    f->parameters.resize(bytes);
    return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction f, int offset, unsigned int value) {
    called(__func__);
    return set_parameter(f, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction f, int offset, float value) {
    called(__func__);
    return set_parameter(f, offset, &value, sizeof value);
}

CUresult cuParamSetv(CUfunction f, int offset, void* value, unsigned int bytes) {
    called(__func__);
    return set_parameter(f, offset, value, bytes);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    called(__func__);
    return call_host(stream, false, function, data);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    called(__func__);
    return call_host(stream, true, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
    called(__func__);
    return add_callback(stream, false, callback, data, flags);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                  unsigned int flags) {
    called(__func__);
    return add_callback(stream, true, callback, data, flags);
}

}  // extern "C"
