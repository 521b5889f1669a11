// SPDX-License-Identifier: Apache-2.0
// cuInit and cuGetProcAddress: where a program gets at the driver.
#include "guard/exports.h"
#include "guard/routing.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

/// The driver has answered `*pfn`; puts ours in its place where there is one.
void replace(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    if (symbol == nullptr || *symbol == '\0' || pfn == nullptr || *pfn == nullptr ||
        !wants_guarding())
        return;
    const char* exported = route(symbol, version, flags);
    if (exported == nullptr) {
        if (concerns_us(symbol))
            log(LogLevel::kInfo, "the driver has %s (CUDA %d), which this guard does not know",
                symbol, version);
        return;
    }
    const Hook* hook = find_hook(exported);
    if (hook != nullptr) *pfn = hook->ours;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuInit) CUresult cuInit(unsigned int flags) {
    if (phase_now() == Phase::kClosed) return CUDA_ERROR_SYSTEM_NOT_READY;
    return g_driver.cuInit(flags);
}

GUARD_EXPORT(cuGetProcAddress)
CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
    find_driver();
    const CUresult result = g_driver.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS) replace(symbol, pfn, cudaVersion, flags);
    return result;
}

GUARD_EXPORT(cuGetProcAddress_v2)
CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
    find_driver();
    const CUresult result =
        g_driver.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS) replace(symbol, pfn, cudaVersion, flags);
    return result;
}
