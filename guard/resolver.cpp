// SPDX-License-Identifier: Apache-2.0
// cuInit and cuGetProcAddress: where a program gets at the driver.
#include "guard/exports.h"
#include "guard/routing.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

/// The driver's own answer to the same question, by the entry point that was asked.
using Ask = CUresult (*)(const char* symbol, void** pfn, int version, cuuint64_t flags);

CUresult ask_first(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    return g_driver.cuGetProcAddress(symbol, pfn, version, flags);
}
CUresult ask_second(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    CUdriverProcAddressQueryResult status = 0;
    return g_driver.cuGetProcAddress_v2(symbol, pfn, version, flags, &status);
}

void pass_on(const char* symbol, int version, cuuint64_t flags) {
    if (!concerns_us(symbol)) return;
    if (!g_unknown_entries.exchange(true) && g_phase.load() == Phase::kGuarded)
        for (unsigned place = 0; place < abi::kRegionDevices; ++place)
            if (g_ledger.knows(place)) g_ledger.remark(place, abi::kRemarkUnknownEntry);
    log(LogLevel::kInfo,
        "the driver has a %s for CUDA %d, flags %llu, which this guard (CUDA %d) does not know; "
        "it is passed through",
        symbol, version, static_cast<unsigned long long>(flags), kTableVersion);
}

/// The driver has answered `*pfn`; puts ours in its place where there is one. A question beyond our
/// table, by version or by flags, has an answer of ours only if the driver gives the same to the
/// nearest question within: else it is an interface that came later.
void replace(const char* symbol, void** pfn, int version, cuuint64_t flags, Ask ask) {
    if (symbol == nullptr || *symbol == '\0' || pfn == nullptr || *pfn == nullptr ||
        !wants_guarding())
        return;
    constexpr cuuint64_t kKnownFlags =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const int near_version = version < kTableVersion ? version : kTableVersion;
    const cuuint64_t near_flags = flags & kKnownFlags;
    const char* exported = route(symbol, near_version, near_flags);
    if (exported == nullptr) return pass_on(symbol, version, flags);
    const Hook hook = find_hook(exported);
    if (version > kTableVersion || flags != near_flags) {
        void* nearest = nullptr;
        if (ask(symbol, &nearest, near_version, near_flags) != CUDA_SUCCESS || nearest != *pfn)
            return pass_on(symbol, version, flags);
    }
    if (hook) *pfn = hook.ours;
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
    if (result == CUDA_SUCCESS) replace(symbol, pfn, cudaVersion, flags, ask_first);
    return result;
}

GUARD_EXPORT(cuGetProcAddress_v2)
CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
    find_driver();
    const CUresult result =
        g_driver.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS) replace(symbol, pfn, cudaVersion, flags, ask_second);
    return result;
}
