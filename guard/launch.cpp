// SPDX-License-Identifier: Apache-2.0
// Launches: with no share set, one load and a jump more than without the guard.
#include "guard/exports.h"
#include "guard/graphs.h"
#include "guard/memory.h"
#include "guard/pools.h"
#include "guard/share.h"

namespace aliquot::guard {
namespace {

inline bool is_passed() {
    return __builtin_expect(g_launch_mode.load(std::memory_order_relaxed) == kLaunchPassed, 1);
}

__attribute__((noinline)) void meter(CUstream stream, bool per_thread) {
    if (guarded()) before_launch(stream, per_thread);
}

template <class Call>
CUresult launch_graph(CUgraphExec exec, CUstream stream, bool per_thread, Call call) {
    if (!guarded()) return call();
    bool granted = true;
    {
        const Inside inside;
        granted = !inside || begin_graph(exec);
    }
    if (!granted) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!is_passed()) before_launch(stream, per_thread);
    const CUresult result = call();
    if (result == CUDA_SUCCESS) {
        const Inside inside;
        if (inside) end_graph(exec);
    }
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy,
                                     unsigned int gz, unsigned int bx, unsigned int by,
                                     unsigned int bz, unsigned int shared, CUstream stream,
                                     void** params, void** extra) {
    if (!is_passed()) meter(stream, false);
    return g_driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

GUARD_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                          unsigned int gz, unsigned int bx, unsigned int by,
                                          unsigned int bz, unsigned int shared, CUstream stream,
                                          void** params, void** extra) {
    if (!is_passed()) meter(stream, true);
    return g_driver.cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

GUARD_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params,
                                       void** extra) {
    if (!is_passed()) meter(config == nullptr ? nullptr : config->hStream, false);
    return g_driver.cuLaunchKernelEx(config, f, params, extra);
}

GUARD_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f,
                                            void** params, void** extra) {
    if (!is_passed()) meter(config == nullptr ? nullptr : config->hStream, true);
    return g_driver.cuLaunchKernelEx_ptsz(config, f, params, extra);
}

GUARD_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
                                                unsigned int gz, unsigned int bx, unsigned int by,
                                                unsigned int bz, unsigned int shared,
                                                CUstream stream, void** params) {
    if (!is_passed()) meter(stream, false);
    return g_driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

GUARD_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                                     unsigned int gz, unsigned int bx,
                                                     unsigned int by, unsigned int bz,
                                                     unsigned int shared, CUstream stream,
                                                     void** params) {
    if (!is_passed()) meter(stream, true);
    return g_driver.cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                   params);
}

GUARD_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list,
                                                           unsigned int count, unsigned int flags) {
    // One kernel on several devices: the first one's share decides, so that they start together.
    if (!is_passed() && list != nullptr && count != 0) meter(list[0].hStream, false);
    return g_driver.cuLaunchCooperativeKernelMultiDevice(list, count, flags);
}

GUARD_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    if (is_passed() && !has_graph_memory()) return g_driver.cuGraphLaunch(exec, stream);
    return launch_graph(exec, stream, false, [&] { return g_driver.cuGraphLaunch(exec, stream); });
}

GUARD_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    if (is_passed() && !has_graph_memory()) return g_driver.cuGraphLaunch_ptsz(exec, stream);
    return launch_graph(exec, stream, true,
                        [&] { return g_driver.cuGraphLaunch_ptsz(exec, stream); });
}

GUARD_EXPORT CUresult cuLaunch(CUfunction f) {
    if (!is_passed()) meter(nullptr, false);
    return g_driver.cuLaunch(f);
}

GUARD_EXPORT CUresult cuLaunchGrid(CUfunction f, int width, int height) {
    if (!is_passed()) meter(nullptr, false);
    return g_driver.cuLaunchGrid(f, width, height);
}

GUARD_EXPORT CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
    if (!is_passed()) meter(stream, false);
    return g_driver.cuLaunchGridAsync(f, width, height, stream);
}

GUARD_EXPORT CUresult cuMemBatchDecompressAsync(CUmemDecompressParams* params, size_t count,
                                                unsigned int flags, size_t* errorIndex,
                                                CUstream stream) {
    if (!is_passed()) meter(stream, false);
    return g_driver.cuMemBatchDecompressAsync(params, count, flags, errorIndex, stream);
}

GUARD_EXPORT CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams* params, size_t count,
                                                     unsigned int flags, size_t* errorIndex,
                                                     CUstream stream) {
    if (!is_passed()) meter(stream, true);
    return g_driver.cuMemBatchDecompressAsync_ptsz(params, count, flags, errorIndex, stream);
}
