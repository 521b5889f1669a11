// SPDX-License-Identifier: Apache-2.0
// Entry points for memory of other processes and other interfaces. None of it is paid for here.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/shared_blocks.h"
#include "sim/cuda/trace.h"

/// A file of another interface's memory.
struct CUextMemory_st {
    static constexpr std::uint64_t kMagic = 0x6e'72'65'74'78'65'63'00;
    std::uint64_t magic = 0;
    int file = -1;
    std::uint64_t bytes = 0;
};

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kForeignMagic = 0x63'70'69'75'63'6d'69'73;

}  // namespace

std::optional<ForeignMemory> describe_for_others(Device& device, const Allocation& allocation) {
    const SharedBlocks blocks = share_blocks(device, allocation.address);
    if (blocks.file < 0) return std::nullopt;
    return ForeignMemory{.magic = kForeignMagic,
                         .pid = static_cast<std::uint32_t>(::getpid()),
                         .file = blocks.file,
                         .inode = blocks.inode,
                         .offset = allocation.address - blocks.address,
                         .bytes = allocation.bytes};
}

Granted open_foreign(const ForeignMemory& memory, CUcontext context) {
    if (memory.magic != kForeignMagic) return {CUDA_ERROR_INVALID_VALUE, 0};
    const std::string path =
        "/proc/" + std::to_string(memory.pid) + "/fd/" + std::to_string(memory.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return {CUDA_ERROR_INVALID_VALUE, 0};
    struct stat status {};
    const auto known = ::fstat(file, &status) == 0 && status.st_ino == memory.inode;
    const auto span = static_cast<std::uint64_t>(status.st_size);
    const bool inside = known && memory.offset <= span && memory.bytes <= span - memory.offset;
    void* pages = MAP_FAILED;
    if (inside) pages = ::mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (pages == MAP_FAILED) return {CUDA_ERROR_MAP_FAILED, 0};
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(pages) + memory.offset;
    (void)add_range({.address = address,
                     .bytes = memory.bytes,
                     .kind = RangeKind::kImported,
                     .context = context,
                     .device = context->device->ordinal,
                     .pages = pages,
                     .pages_bytes = span});
    return {CUDA_SUCCESS, address};
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

constexpr unsigned kLazyPeer = 1;

CUresult open_handle(CUdeviceptr* dptr, const CUipcMemHandle& handle, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (dptr == nullptr || flags != kLazyPeer) return CUDA_ERROR_INVALID_VALUE;
    ForeignMemory memory{};
    std::memcpy(&memory, &handle, sizeof memory);
    // A process cannot open what it has itself.
    if (memory.pid == static_cast<std::uint32_t>(::getpid())) return CUDA_ERROR_INVALID_CONTEXT;
    const Granted opened = open_foreign(memory, current.context);
    if (opened.result == CUDA_SUCCESS) *dptr = opened.address;
    return opened.result;
}

CUresult close_handle(CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    Queue& queue = current.context->device->queue;
    if (const auto waited = queue.wait(queue.end()); waited != CUDA_SUCCESS) return waited;
    const auto range = remove_range(address, RangeKind::kImported);
    if (!range) return CUDA_ERROR_INVALID_VALUE;
    ::munmap(range->pages, range->pages_bytes);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr dptr) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* const device = Driver::get().device_of(dptr);
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = find_allocation(*device, dptr);
    // Only plain memory, which has blocks of its own.
    if (!found || found->use != Use::kPlain || found->heap > 1) return CUDA_ERROR_INVALID_VALUE;
    const auto memory = describe_for_others(*device, *found);
    if (!memory) return CUDA_ERROR_OPERATING_SYSTEM;
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &*memory, sizeof *memory);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* dptr, CUipcMemHandle handle, unsigned int flags) {
    called(__func__);
    return open_handle(dptr, handle, flags);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* dptr, CUipcMemHandle handle, unsigned int flags) {
    called(__func__);
    return open_handle(dptr, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
    called(__func__);
    return close_handle(dptr);
}

CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* descriptor) {
    called(__func__);
    constexpr int kOpaqueFile = 1;
    const Current current = current_context();
    if (!current) return current.result;
    if (memory == nullptr || descriptor == nullptr || descriptor->size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (descriptor->type != kOpaqueFile) return CUDA_ERROR_NOT_SUPPORTED;
    struct stat status {};
    const int file = descriptor->handle.fd;
    if (::fstat(file, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<unsigned long long>(status.st_size) < descriptor->size) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUextMemory_st* const made = objects<CUextMemory_st>().make();
    made->file = file;  // the driver owns it from now on
    made->bytes = descriptor->size;
    *memory = made;
    return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* dptr, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(memory)) return CUDA_ERROR_INVALID_HANDLE;
    if (dptr == nullptr || descriptor == nullptr || descriptor->size == 0 ||
        descriptor->offset > memory->bytes ||
        descriptor->size > memory->bytes - descriptor->offset) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    void* const pages =
        ::mmap(nullptr, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(pages) + descriptor->offset;
    (void)add_range({.address = address,
                     .bytes = descriptor->size,
                     .kind = RangeKind::kExternal,
                     .context = current.context,
                     .device = current.context->device->ordinal,
                     .pages = pages,
                     .pages_bytes = memory->bytes});
    *dptr = address;
    return CUDA_SUCCESS;
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(memory)) return CUDA_ERROR_INVALID_HANDLE;
    ::close(memory->file);
    objects<CUextMemory_st>().destroy(memory);
    return CUDA_SUCCESS;
}

}  // extern "C"
