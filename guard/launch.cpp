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

/// A launch that is metered, apart from the one that is not: that one is to be a load, a compare
/// and a jump, with nothing put on the stack.
template <auto kCall, class... Arguments>
__attribute__((noinline)) CUresult metered(CUstream stream, bool per_thread,
                                           Arguments... arguments) {
    if (!guarded()) return (g_driver.*kCall)(arguments...);
    before_launch(stream, per_thread);
    const CUresult result = (g_driver.*kCall)(arguments...);
    after_launch();
    return result;
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
    if (!is_passed()) after_launch();
    const Inside inside;
    if (inside) end_graph(exec, result == CUDA_SUCCESS);
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuLaunchKernel)
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                        CUstream stream, void** params, void** extra) {
    if (is_passed())
        return g_driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    return metered<&Driver::cuLaunchKernel>(stream, false, f, gx, gy, gz, bx, by, bz, shared,
                                            stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernel_ptsz)
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                             unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                             CUstream stream, void** params, void** extra) {
    if (is_passed())
        return g_driver.cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, params,
                                            extra);
    return metered<&Driver::cuLaunchKernel_ptsz>(stream, true, f, gx, gy, gz, bx, by, bz, shared,
                                                 stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx)
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
    if (is_passed()) return g_driver.cuLaunchKernelEx(config, f, params, extra);
    return metered<&Driver::cuLaunchKernelEx>(config == nullptr ? nullptr : config->hStream, false,
                                              config, f, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx_ptsz)
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** params,
                               void** extra) {
    if (is_passed()) return g_driver.cuLaunchKernelEx_ptsz(config, f, params, extra);
    return metered<&Driver::cuLaunchKernelEx_ptsz>(config == nullptr ? nullptr : config->hStream,
                                                   true, config, f, params, extra);
}

GUARD_EXPORT(cuLaunchCooperativeKernel)
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                   unsigned int bx, unsigned int by, unsigned int bz,
                                   unsigned int shared, CUstream stream, void** params) {
    if (is_passed())
        return g_driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                  params);
    return metered<&Driver::cuLaunchCooperativeKernel>(stream, false, f, gx, gy, gz, bx, by, bz,
                                                       shared, stream, params);
}

GUARD_EXPORT(cuLaunchCooperativeKernel_ptsz)
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                        unsigned int gz, unsigned int bx, unsigned int by,
                                        unsigned int bz, unsigned int shared, CUstream stream,
                                        void** params) {
    if (is_passed())
        return g_driver.cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                       params);
    return metered<&Driver::cuLaunchCooperativeKernel_ptsz>(stream, true, f, gx, gy, gz, bx, by, bz,
                                                            shared, stream, params);
}

GUARD_EXPORT(cuLaunchCooperativeKernelMultiDevice)
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned int count,
                                              unsigned int flags) {
    // One kernel on several devices: the first one's share decides, so that they start together.
    const bool is_first = !is_passed() && list != nullptr && count != 0 && guarded();
    if (is_first) before_launch(list[0].hStream, false);
    const CUresult result = g_driver.cuLaunchCooperativeKernelMultiDevice(list, count, flags);
    if (is_first) after_launch();
    return result;
}

GUARD_EXPORT(cuGraphLaunch) CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    if (!has_graph_memory()) {
        if (is_passed()) return g_driver.cuGraphLaunch(exec, stream);
        return metered<&Driver::cuGraphLaunch>(stream, false, exec, stream);
    }
    return launch_graph(exec, stream, false, [&] { return g_driver.cuGraphLaunch(exec, stream); });
}

GUARD_EXPORT(cuGraphLaunch_ptsz) CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    if (!has_graph_memory()) {
        if (is_passed()) return g_driver.cuGraphLaunch_ptsz(exec, stream);
        return metered<&Driver::cuGraphLaunch_ptsz>(stream, true, exec, stream);
    }
    return launch_graph(exec, stream, true,
                        [&] { return g_driver.cuGraphLaunch_ptsz(exec, stream); });
}

GUARD_EXPORT(cuLaunch) CUresult cuLaunch(CUfunction f) {
    if (is_passed()) return g_driver.cuLaunch(f);
    return metered<&Driver::cuLaunch>(nullptr, false, f);
}

GUARD_EXPORT(cuLaunchGrid) CUresult cuLaunchGrid(CUfunction f, int width, int height) {
    if (is_passed()) return g_driver.cuLaunchGrid(f, width, height);
    return metered<&Driver::cuLaunchGrid>(nullptr, false, f, width, height);
}

GUARD_EXPORT(cuLaunchGridAsync)
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
    if (is_passed()) return g_driver.cuLaunchGridAsync(f, width, height, stream);
    return metered<&Driver::cuLaunchGridAsync>(stream, false, f, width, height, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync)
CUresult cuMemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned int flags,
                                   size_t* errorIndex, CUstream stream) {
    if (is_passed())
        return g_driver.cuMemBatchDecompressAsync(params, count, flags, errorIndex, stream);
    return metered<&Driver::cuMemBatchDecompressAsync>(stream, false, params, count, flags,
                                                       errorIndex, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync_ptsz)
CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams* params, size_t count,
                                        unsigned int flags, size_t* errorIndex, CUstream stream) {
    if (is_passed())
        return g_driver.cuMemBatchDecompressAsync_ptsz(params, count, flags, errorIndex, stream);
    return metered<&Driver::cuMemBatchDecompressAsync_ptsz>(stream, true, params, count, flags,
                                                            errorIndex, stream);
}
