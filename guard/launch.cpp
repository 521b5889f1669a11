// SPDX-License-Identifier: Apache-2.0
// Launches: with no share set, a load and a jump more than without the guard.
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

/// Its own function, with the signature of the entry point.
#define GUARD_STEP __attribute__((noinline, noclone))

/// One that was not drawn before.
__attribute__((noinline)) void look(CUstream stream, bool per_thread) {
    if (guarded()) enter_launch(stream, per_thread);
}

// An entry point jumps to the driver or to one of these two, and what is on the stack stays where it is. A test and a
// branch there would have it loaded and stored for either of them, which takes as long as all else.

/// Where the driver is not known yet.
template <auto kCall, class... Arguments>
GUARD_STEP CUresult passed(Arguments... arguments) {
    return (g_driver.*kCall)(arguments...);
}
template <auto kCall, class Stream, bool kPerThread, class... Arguments>
GUARD_STEP CUresult metered(Arguments... arguments) {
    const CUstream stream = Stream::of(arguments...);
    if (!takes_drawn(stream, kPerThread) && !goes_on_in(stream, kPerThread))
        look(stream, kPerThread);
    const CUresult result = (g_driver.*kCall)(arguments...);
    after_launch();
    return result;
}

template <auto kCall, class... Arguments>
constexpr auto passed_as(CUresult (*Driver::* /*call*/)(Arguments...)) {
    return &passed<kCall, Arguments...>;
}
template <auto kCall, class Stream, bool kPerThread, class... Arguments>
constexpr auto metered_as(CUresult (*Driver::* /*call*/)(Arguments...)) {
    return &metered<kCall, Stream, kPerThread, Arguments...>;
}

/// By name: where the stream of a launch is among its arguments, and which default stream it means.
#define GUARD_LAUNCHES(LAUNCH)                                 \
    LAUNCH(cuLaunchKernel, KernelStream, false)                \
    LAUNCH(cuLaunchKernel_ptsz, KernelStream, true)            \
    LAUNCH(cuLaunchKernelEx, OfConfig, false)                  \
    LAUNCH(cuLaunchKernelEx_ptsz, OfConfig, true)              \
    LAUNCH(cuLaunchCooperativeKernel, KernelStream, false)     \
    LAUNCH(cuLaunchCooperativeKernel_ptsz, KernelStream, true) \
    LAUNCH(cuGraphLaunch, ArgumentAt<1>, false)                \
    LAUNCH(cuGraphLaunch_ptsz, ArgumentAt<1>, true)            \
    LAUNCH(cuLaunch, DefaultStream, false)                     \
    LAUNCH(cuLaunchGrid, DefaultStream, false)                 \
    LAUNCH(cuLaunchGridAsync, ArgumentAt<3>, false)            \
    LAUNCH(cuMemBatchDecompressAsync, ArgumentAt<4>, false)    \
    LAUNCH(cuMemBatchDecompressAsync_ptsz, ArgumentAt<4>, true)

/// Where each entry point goes now.
struct Paths {
#define GUARD_PATH(symbol, stream, per_thread)    \
    std::atomic<decltype(Driver::symbol)> symbol{ \
        metered_as<&Driver::symbol, stream, per_thread>(&Driver::symbol)};
    GUARD_LAUNCHES(GUARD_PATH)
#undef GUARD_PATH
};
alignas(64) constinit Paths g_paths;

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

void route_launches(bool passes) {
#define GUARD_ROUTE(symbol, stream, per_thread)                                    \
    g_paths.symbol.store(                                                          \
        !passes ? metered_as<&Driver::symbol, stream, per_thread>(&Driver::symbol) \
        : g_driver.symbol != nullptr ? g_driver.symbol                             \
                                     : passed_as<&Driver::symbol>(&Driver::symbol));
    GUARD_LAUNCHES(GUARD_ROUTE)
#undef GUARD_ROUTE
}

}  // namespace aliquot::guard

using namespace aliquot::guard;

#define GUARD_GO(symbol) g_paths.symbol.load(std::memory_order_relaxed)

GUARD_EXPORT(cuLaunchKernel)
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                        CUstream stream, void** params, void** extra) {
    return GUARD_GO(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernel_ptsz)
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                             unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                             CUstream stream, void** params, void** extra) {
    return GUARD_GO(cuLaunchKernel_ptsz)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx)
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
    return GUARD_GO(cuLaunchKernelEx)(config, f, params, extra);
}

GUARD_EXPORT(cuLaunchKernelEx_ptsz)
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** params,
                               void** extra) {
    return GUARD_GO(cuLaunchKernelEx_ptsz)(config, f, params, extra);
}

GUARD_EXPORT(cuLaunchCooperativeKernel)
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                   unsigned int bx, unsigned int by, unsigned int bz,
                                   unsigned int shared, CUstream stream, void** params) {
    return GUARD_GO(cuLaunchCooperativeKernel)(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

GUARD_EXPORT(cuLaunchCooperativeKernel_ptsz)
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                        unsigned int gz, unsigned int bx, unsigned int by,
                                        unsigned int bz, unsigned int shared, CUstream stream,
                                        void** params) {
    return GUARD_GO(cuLaunchCooperativeKernel_ptsz)(f, gx, gy, gz, bx, by, bz, shared, stream,
                                                    params);
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
        return GUARD_GO(cuGraphLaunch)(exec, stream);
    }
    return launch_graph(exec, stream, false, [&] { return g_driver.cuGraphLaunch(exec, stream); });
}

GUARD_EXPORT(cuGraphLaunch_ptsz) CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    if (!has_graph_memory()) {
        return GUARD_GO(cuGraphLaunch_ptsz)(exec, stream);
    }
    return launch_graph(exec, stream, true,
                        [&] { return g_driver.cuGraphLaunch_ptsz(exec, stream); });
}

GUARD_EXPORT(cuLaunch) CUresult cuLaunch(CUfunction f) { return GUARD_GO(cuLaunch)(f); }

GUARD_EXPORT(cuLaunchGrid) CUresult cuLaunchGrid(CUfunction f, int width, int height) {
    return GUARD_GO(cuLaunchGrid)(f, width, height);
}

GUARD_EXPORT(cuLaunchGridAsync)
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
    return GUARD_GO(cuLaunchGridAsync)(f, width, height, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync)
CUresult cuMemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned int flags,
                                   size_t* errorIndex, CUstream stream) {
    return GUARD_GO(cuMemBatchDecompressAsync)(params, count, flags, errorIndex, stream);
}

GUARD_EXPORT(cuMemBatchDecompressAsync_ptsz)
CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams* params, size_t count,
                                        unsigned int flags, size_t* errorIndex, CUstream stream) {
    return GUARD_GO(cuMemBatchDecompressAsync_ptsz)(params, count, flags, errorIndex, stream);
}
