// SPDX-License-Identifier: Apache-2.0
// Contexts: a few hundred MiB each that no allocation call shows.
#include "guard/exports.h"
#include "guard/graphs.h"
#include "guard/kernel.h"
#include "guard/leaving.h"
#include "guard/memory.h"
#include "guard/pools.h"
#include "guard/share.h"
#include "guard/truth.h"

namespace aliquot::guard {
namespace {

constexpr unsigned kMaxOrdinals = 64;
std::atomic<std::uint64_t> g_primary[kMaxOrdinals];  // primary contexts by ordinal

std::uint64_t key_of(CUcontext context) { return reinterpret_cast<std::uintptr_t>(context); }

/// Memory of pools outlives a context, but not the last one of its device.
void settle_after_context(unsigned place) {
    if (place != kNone && g_ledger.own(place).contexts.load() == 0) {
        drop_pools(place);
        drop_graph_memory(place);
    }
    settle_pools_if_changed();
}

/// Room for a context before there is one; the driver's own figure comes later.
bool reserve_context(unsigned place) {
    const std::uint64_t estimate =
        g_ledger.device(place).limits->context_bytes.load(std::memory_order_relaxed);
    // In the first context of a process lies nearly all of it.
    if (estimate == 0 || g_ledger.own(place).contexts.load() != 0) return true;
    g_ledger.expect_truth();
    return reserve(place, estimate, Part::kOverhead);
}

void made_context(unsigned place) {
    g_ledger.count_context(place, 1);
    g_ledger.expect_truth();
    measure_self(place, true);
}

void failed_context(unsigned place) {
    if (g_ledger.own(place).contexts.load() == 0) g_ledger.set_overhead(place, 0);
}

template <class Call>
CUresult create(CUcontext* context, CUdevice device, Call call) {
    const bool ours = guarded();
    const Inside inside;
    const unsigned place = ours && inside ? place_of_device(device) : kNone;
    if (place == kNone || context == nullptr) return call();
    if (!reserve_context(place)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result != CUDA_SUCCESS) {
        failed_context(place);
        return result;
    }
    Record record;
    record.kind = Kind::kContext;
    record.place = static_cast<std::uint8_t>(place);
    g_memory.put(key_of(*context), record);
    made_context(place);
    return result;
}

template <class Call>
CUresult destroy(CUcontext context, Call call) {
    const bool ours = guarded();
    const Inside inside;
    if (ours && inside) {
        drop_share(context);
        drop_leaving(context, false);
    }
    const CUresult result = call();
    if (!ours || !inside || result != CUDA_SUCCESS) return result;
    Record record;
    drop_context(key_of(context));
    const bool known = g_memory.take(key_of(context), record);
    if (known) g_ledger.count_context(record.place, -1);
    settle_after_context(known ? record.place : kNone);
    return result;
}

bool is_active(CUdevice device) {
    unsigned flags = 0;
    int active = 0;
    return g_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
           active != 0;
}

CUresult retain(CUcontext* context, CUdevice device) {
    const auto call = [&] { return g_driver.cuDevicePrimaryCtxRetain(context, device); };
    const bool ours = guarded();
    const Inside inside;
    const unsigned place = ours && inside ? place_of_device(device) : kNone;
    if (place == kNone || is_active(device)) return call();
    if (!reserve_context(place)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result != CUDA_SUCCESS) {
        failed_context(place);
        return result;
    }
    if (context != nullptr && device < static_cast<int>(kMaxOrdinals))
        g_primary[device].store(key_of(*context));
    made_context(place);
    return result;
}

/// After a release or a reset; `call` may have destroyed the primary context.
template <class Call>
CUresult let_go(CUdevice device, bool reset, Call call) {
    const bool ours = guarded();
    const Inside inside;
    const unsigned place = ours && inside ? place_of_device(device) : kNone;
    if (place == kNone || device >= static_cast<int>(kMaxOrdinals)) return call();
    const bool before = is_active(device);
    const std::uint64_t primary = g_primary[device].load();
    auto* const context = kernel::as_pointer<CUctx_st>(primary);
    if (reset) {
        drop_share(context);
        drop_leaving(context, false);
    }
    const CUresult result = call();
    if (result != CUDA_SUCCESS || !before) return result;
    const bool after = is_active(device);
    if (reset || !after) drop_context(primary);
    if (!after) {
        g_ledger.count_context(place, -1);
        drop_leaving(context, true);
    }
    settle_after_context(place);
    return result;
}

/// Code that was loaded takes memory that nobody asked for.
template <class Call>
CUresult load(Call call) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = call();
    if (ours && inside && result == CUDA_SUCCESS)
        if (const unsigned place = current_place(); place != kNone) measure_self(place, true);
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuCtxCreate)
CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return create(context, device, [&] { return g_driver.cuCtxCreate(context, flags, device); });
}
GUARD_EXPORT(cuCtxCreate_v2)
CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return create(context, device, [&] { return g_driver.cuCtxCreate_v2(context, flags, device); });
}
GUARD_EXPORT(cuCtxCreate_v3)
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* params, int count,
                        unsigned int flags, CUdevice device) {
    return create(context, device,
                  [&] { return g_driver.cuCtxCreate_v3(context, params, count, flags, device); });
}
GUARD_EXPORT(cuCtxCreate_v4)
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                        CUdevice device) {
    return create(context, device,
                  [&] { return g_driver.cuCtxCreate_v4(context, params, flags, device); });
}
GUARD_EXPORT(cuCtxDestroy) CUresult cuCtxDestroy(CUcontext context) {
    return destroy(context, [&] { return g_driver.cuCtxDestroy(context); });
}
GUARD_EXPORT(cuCtxDestroy_v2) CUresult cuCtxDestroy_v2(CUcontext context) {
    return destroy(context, [&] { return g_driver.cuCtxDestroy_v2(context); });
}
GUARD_EXPORT(cuDevicePrimaryCtxRetain)
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return retain(context, device);
}
GUARD_EXPORT(cuDevicePrimaryCtxRelease) CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return let_go(device, false, [&] { return g_driver.cuDevicePrimaryCtxRelease(device); });
}
GUARD_EXPORT(cuDevicePrimaryCtxRelease_v2) CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return let_go(device, false, [&] { return g_driver.cuDevicePrimaryCtxRelease_v2(device); });
}
GUARD_EXPORT(cuDevicePrimaryCtxReset) CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return let_go(device, true, [&] { return g_driver.cuDevicePrimaryCtxReset(device); });
}
GUARD_EXPORT(cuDevicePrimaryCtxReset_v2) CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return let_go(device, true, [&] { return g_driver.cuDevicePrimaryCtxReset_v2(device); });
}
GUARD_EXPORT(cuGreenCtxCreate)
CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device,
                          unsigned int flags) {
    return load([&] { return g_driver.cuGreenCtxCreate(context, description, device, flags); });
}
GUARD_EXPORT(cuModuleLoad) CUresult cuModuleLoad(CUmodule* module, const char* file) {
    return load([&] { return g_driver.cuModuleLoad(module, file); });
}
GUARD_EXPORT(cuModuleLoadData) CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return load([&] { return g_driver.cuModuleLoadData(module, image); });
}
GUARD_EXPORT(cuModuleLoadDataEx)
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count,
                            CUjit_option* options, void** values) {
    return load([&] { return g_driver.cuModuleLoadDataEx(module, image, count, options, values); });
}
GUARD_EXPORT(cuModuleLoadFatBinary)
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return load([&] { return g_driver.cuModuleLoadFatBinary(module, image); });
}
GUARD_EXPORT(cuLibraryLoadData)
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                           void** jitValues, unsigned int jitCount, CUlibraryOption* options,
                           void** values, unsigned int count) {
    return load([&] {
        return g_driver.cuLibraryLoadData(library, code, jitOptions, jitValues, jitCount, options,
                                          values, count);
    });
}
GUARD_EXPORT(cuLibraryLoadFromFile)
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* jitOptions,
                               void** jitValues, unsigned int jitCount, CUlibraryOption* options,
                               void** values, unsigned int count) {
    return load([&] {
        return g_driver.cuLibraryLoadFromFile(library, file, jitOptions, jitValues, jitCount,
                                              options, values, count);
    });
}
GUARD_EXPORT(cuCtxSetLimit) CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return load([&] { return g_driver.cuCtxSetLimit(limit, value); });
}
