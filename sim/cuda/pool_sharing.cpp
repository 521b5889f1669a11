// SPDX-License-Identifier: Apache-2.0
// Entry points by which processes share memory pools.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/physical.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/shared_blocks.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

extern "C" {

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if ((pool->props.handleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
    if (pool->shared_file < 0) {
        // The file only says which device the pool is of; each pointer brings its own.
        Physical sign;
        sign.device = pool->device;
        sign.bytes = 1;
        pool->shared_file = file_of(sign);
    }
    const int exported = ::fcntl(pool->shared_file, F_DUPFD_CLOEXEC, 0);
    if (exported < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(handle) = exported;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
    const auto ordinal = device_of_file(file);
    Device* const device = ordinal ? Driver::get().device(*ordinal) : nullptr;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = type;
    props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal};
    *pool = make_pool(*device, props);
    (*pool)->imported = true;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr ptr) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    Device* const device = Driver::get().device_of(ptr);
    if (data == nullptr || device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = find_allocation(*device, ptr);
    if (!found || found->heap <= 1 || found->address != ptr) return CUDA_ERROR_INVALID_VALUE;
    const auto memory = describe_for_others(*device, *found);
    if (!memory) return CUDA_ERROR_OPERATING_SYSTEM;
    static_assert(sizeof *memory <= sizeof *data);
    std::memset(data, 0, sizeof *data);
    std::memcpy(data, &*memory, sizeof *memory);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (ptr == nullptr || data == nullptr || !pool->imported) return CUDA_ERROR_INVALID_VALUE;
    ForeignMemory memory{};
    std::memcpy(&memory, data, sizeof memory);
    const Granted opened = open_foreign(memory, current.context);
    if (opened.result == CUDA_SUCCESS) *ptr = opened.address;
    return opened.result;
}

}  // extern "C"
