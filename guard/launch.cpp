// SPDX-License-Identifier: Apache-2.0
// Launches: with no share set, one load and a jump more than without the guard.
#include <tuple>

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

/// The stream among the arguments of a launch.
template <std::size_t kPlace>
struct ArgumentAt {
    template <class... Arguments>
    static CUstream of(Arguments... arguments) {
        return std::get<kPlace>(std::tuple<Arguments...>(arguments...));
    }
};
struct OfConfig {
    template <class... More>
    static CUstream of(const CUlaunchConfig* config, More... /*more*/) {
        return config == nullptr ? nullptr : config->hStream;
    }
};
struct DefaultStream {
    template <class... Arguments>
    static CUstream of(Arguments... /*arguments*/) {
        return nullptr;
    }
};
using KernelStream = ArgumentAt<8>;

/// One that was not drawn before.
__attribute__((noinline)) void look(CUstream stream, bool per_thread) {
    if (guarded() && !goes_on_in(stream, per_thread)) enter_launch(stream, per_thread);
}

/// A launch that is metered, apart from the one that is not: that one is to be a load, a compare and a jump,
/// with nothing put on the stack. It has the signature of the entry point, so that what is on the stack need
/// not be moved for it.
template <auto kCall, class Stream, bool kPerThread, class... Arguments>
__attribute__((noinline, noclone)) CUresult metered(Arguments... arguments) {
    const CUstream stream = Stream::of(arguments...);
    if (__builtin_expect(!takes_drawn(stream, kPerThread), 0)) look(stream, kPerThread);
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
    return metered<&Driver::cuLaunchKernel, KernelStream, false>(f, gx, gy, gz, bx, by, bz, shared,
                                                                 stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernel_ptsz)
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                             unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                             CUstream stream, void** params, void** extra) {
    if (is_passed())
        return g_driver.cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, params,
                                            extra);
    return metered<&Driver::cuLaunchKernel_ptsz, KernelStream, true>(f, gx, gy, gz, bx, by, bz,
                                                                     shared, stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx)
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
    if (is_passed()) return g_driver.cuLaunchKernelEx(config, f, params, extra);
    return metered<&Driver::cuLaunchKernelEx, OfConfig, false>(config, f, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx_ptsz)
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** params,
                               void** extra) {
    if (is_passed()) return g_driver.cuLaunchKernelEx_ptsz(config, f, params, extra);
    return metered<&Driver::cuLaunchKernelEx_ptsz, OfConfig, true>(config, f, params, extra);
}

GUARD_EXPORT(cuLaunchCooperativeKernel)
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                   unsigned int bx, unsigned int by, unsigned int bz,
                                   unsigned int shared, CUstream stream, void** params) {
    if (is_passed())
        return g_driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                  params);
    return metered<&Driver::cuLaunchCooperativeKernel, KernelStream, false>(
        f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

GUARD_EXPORT(cuLaunchCooperativeKernel_ptsz)
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                        unsigned int gz, unsigned int bx, unsigned int by,
                                        unsigned int bz, unsigned int shared, CUstream stream,
                                        void** params) {
    if (is_passed())
        return g_driver.cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                       params);
    return metered<&Driver::cuLaunchCooperativeKernel_ptsz, KernelStream, true>(
        f, gx, gy, gz, bx, by, bz, shared, stream, params);
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
        return metered<&Driver::cuGraphLaunch, ArgumentAt<1>, false>(exec, stream);
    }
    return launch_graph(exec, stream, false, [&] { return g_driver.cuGraphLaunch(exec, stream); });
}

GUARD_EXPORT(cuGraphLaunch_ptsz) CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    if (!has_graph_memory()) {
        if (is_passed()) return g_driver.cuGraphLaunch_ptsz(exec, stream);
        return metered<&Driver::cuGraphLaunch_ptsz, ArgumentAt<1>, true>(exec, stream);
    }
    return launch_graph(exec, stream, true,
                        [&] { return g_driver.cuGraphLaunch_ptsz(exec, stream); });
}

GUARD_EXPORT(cuLaunch) CUresult cuLaunch(CUfunction f) {
    if (is_passed()) return g_driver.cuLaunch(f);
    return metered<&Driver::cuLaunch, DefaultStream, false>(f);
}

GUARD_EXPORT(cuLaunchGrid) CUresult cuLaunchGrid(CUfunction f, int width, int height) {
    if (is_passed()) return g_driver.cuLaunchGrid(f, width, height);
    return metered<&Driver::cuLaunchGrid, DefaultStream, false>(f, width, height);
}

GUARD_EXPORT(cuLaunchGridAsync)
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
    if (is_passed()) return g_driver.cuLaunchGridAsync(f, width, height, stream);
    return metered<&Driver::cuLaunchGridAsync, ArgumentAt<3>, false>(f, width, height, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync)
CUresult cuMemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned int flags,
                                   size_t* errorIndex, CUstream stream) {
    if (is_passed())
        return g_driver.cuMemBatchDecompressAsync(params, count, flags, errorIndex, stream);
    return metered<&Driver::cuMemBatchDecompressAsync, ArgumentAt<4>, false>(params, count, flags,
                                                                             errorIndex, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync_ptsz)
CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams* params, size_t count,
                                        unsigned int flags, size_t* errorIndex, CUstream stream) {
    if (is_passed())
        return g_driver.cuMemBatchDecompressAsync_ptsz(params, count, flags, errorIndex, stream);
    return metered<&Driver::cuMemBatchDecompressAsync_ptsz, ArgumentAt<4>, true>(
        params, count, flags, errorIndex, stream);
}
