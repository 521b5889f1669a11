// SPDX-License-Identifier: Apache-2.0
// Entry points that work before any other: initialisation, versions, and the lookup of entry points.
#include <string_view>

#include "sim/cuda/driver.h"
#include "sim/cuda/entry_points.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr cuuint64_t kKnownEntryFlags = 3;

CUresult look_up(const char* symbol, void** pointer, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
    if (symbol == nullptr || pointer == nullptr || (flags & ~kKnownEntryFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (tracing) trace("  asks for ", symbol);
    const int driver = Driver::get().cuda_version();
    if (driver != 0 && version > driver) return CUDA_ERROR_INVALID_VALUE;
    const Route found = route(symbol, version, flags, driver == 0 ? version : driver);
    *pointer = found.exported == nullptr ? nullptr : entry_address(found.row);
    if (status != nullptr) *status = found.status;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
    called(__func__);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return Driver::get().initialise();
}

CUresult cuDriverGetVersion(int* version) {
    called(__func__);
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = Driver::get().cuda_version();
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
    called(__func__);
    return look_up(symbol, pfn, cudaVersion, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
    called(__func__);
    return look_up(symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    called(__func__);
    if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *table = nullptr;
    return CUDA_ERROR_NOT_SUPPORTED;  // tables that only their makers know
}

}  // extern "C"
