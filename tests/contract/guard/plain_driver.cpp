// SPDX-License-Identifier: Apache-2.0
//
// The plain driver, libcuda.so.1 for the bench and for what must not depend on a driver's own
// locks: calls cost a few nanoseconds, memory is numbers that nobody counts, every kernel takes half
// a microsecond by its events. One GPU, whose UUID ALIQUOT_GUARD_KIT_UUIDS begins with.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "tests/contract/guard/cuda_more.h"

namespace aliquot::guardkit {

struct PlainAddress {
    void* address;
    int status;
};
PlainAddress plain_address(const char* name, int version, bool per_thread);

namespace {

constexpr int kVersion = 13000;
constexpr int kAhead = 13020;  // with ALIQUOT_GUARD_KIT_AHEAD: two minor versions on
constexpr std::size_t kTotal = std::size_t{16} << 30;

std::atomic<unsigned long long> next_address{0x7f00'0000'0000};
std::atomic<unsigned long long> launches{0};
std::atomic<bool> ready{false};
thread_local CUcontext current = nullptr;

CUcontext the_context() { return reinterpret_cast<CUcontext>(std::uintptr_t{0x1000}); }
template <class Handle>
CUresult give(Handle* out) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<Handle>(next_address.fetch_add(4096, std::memory_order_relaxed));
    return CUDA_SUCCESS;
}

CUresult give_memory(CUdeviceptr* out, std::size_t bytes) {
    if (!ready.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > kTotal) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = next_address.fetch_add((bytes + 511) / 512 * 512, std::memory_order_relaxed);
    return CUDA_SUCCESS;
}

bool is_ahead() {
    static const bool ahead =
        std::getenv("ALIQUOT_GUARD_KIT_AHEAD") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    return ahead;
}
int driver_version() { return is_ahead() ? kAhead : kVersion; }

/// What only a driver ahead has: later interfaces of known names (they take other arguments), a name
/// that came later, and a flag that came later.
int later_launch() { return 711; }
int later_node() { return 712; }
int later_allocation() { return 713; }
int later_flag() { return 714; }
void* later_address(const char* symbol, int version, cuuint64_t flags) {
    if (!is_ahead()) return nullptr;
    const auto is = [&](const char* name, int since) {
        return version >= since && std::strcmp(symbol, name) == 0;
    };
    if (is("cuLaunchKernelEx", 13010)) return reinterpret_cast<void*>(later_launch);
    if (is("cuGraphAddNode", 13020)) return reinterpret_cast<void*>(later_node);
    if (is("cuMemAllocTomorrow", 13020)) return reinterpret_cast<void*>(later_allocation);
    if (is("cuMemAlloc", 3020) && (flags & 4) != 0) return reinterpret_cast<void*>(later_flag);
    return nullptr;
}

CUresult launched() {
    launches.fetch_add(1, std::memory_order_relaxed);
    return CUDA_SUCCESS;
}

void read_uuid(CUuuid* uuid) {
    std::memset(uuid, 0, sizeof *uuid);
    const char* text = std::getenv("ALIQUOT_GUARD_KIT_UUIDS");  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr) text = "00112233445566778899aabbccddeeff";
    for (unsigned i = 0; i < 32 && text[i] != '\0'; ++i) {
        const int value = text[i] <= '9' ? text[i] - '0' : (text[i] | 32) - 'a' + 10;
        uuid->bytes[i / 2] = static_cast<char>(uuid->bytes[i / 2] << 4 | value);
    }
}

}  // namespace
}  // namespace aliquot::guardkit

using namespace aliquot::guardkit;

extern "C" {
#pragma GCC visibility push(default)

CUresult cuInit(unsigned /*flags*/) {
    ready = true;
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = driver_version();
    return CUDA_SUCCESS;
}
CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    const cuuint64_t most = is_ahead() ? 6 : 2;
    if (symbol == nullptr || pfn == nullptr || version > driver_version() || flags > most)
        return CUDA_ERROR_INVALID_VALUE;
    if (void* const later = later_address(symbol, version, flags)) {
        *pfn = later;
        if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    const PlainAddress found = plain_address(symbol, version, (flags & 2) != 0);
    *pfn = found.address;
    if (status != nullptr) *status = found.status;
    return found.status == 0 || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    return cuGetProcAddress_v2(symbol, pfn, version, flags, nullptr);
}
CUresult cuDeviceGetCount(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice /*device*/) {
    read_uuid(uuid);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice /*device*/) {
    read_uuid(uuid);
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice /*device*/) {
    *bytes = kTotal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute /*attribute*/, CUdevice /*device*/) {
    *value = 10;  // 16 is the number of multiprocessors
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice /*device*/) {
    *context = the_context();
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice /*device*/) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxGetState(CUdevice /*device*/, unsigned* flags, int* active) {
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned /*flags*/, CUdevice /*device*/) {
    current = *context = the_context();
    return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext /*context*/) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
    current = context;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    *device = 0;
    return current == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) { return give_memory(out, bytes); }
CUresult cuMemFree_v2(CUdeviceptr /*pointer*/) { return CUDA_SUCCESS; }
CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream /*stream*/) {
    return give_memory(out, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr /*pointer*/, CUstream /*stream*/) { return CUDA_SUCCESS; }
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    if (free != nullptr) *free = kTotal;
    if (total != nullptr) *total = kTotal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice /*device*/) {
    *pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x2000});
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    return cuDeviceGetDefaultMemPool(pool, device);
}
CUresult cuMemPoolGetAttribute(CUmemoryPool /*pool*/, CUmemPool_attribute /*what*/, void* value) {
    const cuuint64_t none = 0;
    std::memcpy(value, &none, sizeof none);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* /*image*/) { return give(module); }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule /*module*/, const char* /*name*/) {
    return give(function);
}
CUresult cuStreamCreate(CUstream* stream, unsigned /*flags*/) { return give(stream); }
CUresult cuStreamDestroy_v2(CUstream /*stream*/) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream /*stream*/) { return CUDA_SUCCESS; }
CUresult cuStreamQuery(CUstream /*stream*/) { return CUDA_SUCCESS; }
CUresult cuStreamIsCapturing(CUstream /*stream*/, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream /*stream*/, CUcontext* context) {
    *context = the_context();
    return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* /*mode*/) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) { return give(event); }
CUresult cuEventRecord(CUevent /*event*/, CUstream /*stream*/) { return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent /*event*/) { return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent /*event*/) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent /*start*/, CUevent /*end*/) {
    *milliseconds = 0.0005F;
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent /*event*/) { return CUDA_SUCCESS; }

CUresult cuLaunchKernel(CUfunction /*f*/, unsigned /*gx*/, unsigned /*gy*/, unsigned /*gz*/,
                        unsigned /*bx*/, unsigned /*by*/, unsigned /*bz*/, unsigned /*shared*/,
                        CUstream /*stream*/, void** /*params*/, void** /*extra*/) {
    return launched();
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* /*config*/, CUfunction /*f*/, void** /*params*/,
                          void** /*extra*/) {
    return launched();
}
CUresult cuGraphCreate(CUgraph* graph, unsigned /*flags*/) { return give(graph); }
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph /*graph*/,
                                     unsigned long long /*flags*/) {
    return give(exec);
}
CUresult cuGraphExecDestroy(CUgraphExec /*exec*/) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec /*exec*/, CUstream /*stream*/) { return launched(); }

#pragma GCC visibility pop
}  // extern "C"
