// SPDX-License-Identifier: Apache-2.0
// Memory in stream order, memory that the program maps itself, memory of graphs, memory of others.
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

constexpr std::size_t kMi = 1 << 20;

class CudaPools : public CudaLibrary {};
class CudaMappings : public CudaLibrary {};
class CudaSharing : public CudaLibrary {};

std::uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    std::uint64_t value = 0;
    EXPECT_EQ(CALL(cuMemPoolGetAttribute)(pool, which, &value), CUDA_SUCCESS);
    return value;
}

TEST_F(CudaPools, KeepWhatTheirThresholdSays) {
    in_process([] {
        make_context();
        CUmemoryPool pool = nullptr;
        EXPECT_EQ(CALL(cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuMemAllocAsync)(&address, 10 * kMi, nullptr), CUDA_SUCCESS);
        EXPECT_GE(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMi);
        EXPECT_GE(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 10 * kMi);
        EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
        EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);

        std::uint64_t all = ~std::uint64_t{0};
        EXPECT_EQ(CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemAllocAsync)(&address, 10 * kMi, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_GE(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMi);
        EXPECT_EQ(CALL(cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
        EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
        EXPECT_GE(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 10 * kMi);
    });
}

TEST_F(CudaPools, AndPlainMemoryAreFreedByEitherCall) {
    in_process([] {
        make_context();
        CUdeviceptr pooled = 0;
        EXPECT_EQ(CALL(cuMemAllocAsync)(&pooled, 1000, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemFree_v2)(pooled), CUDA_SUCCESS);
        const CUdeviceptr plain = allocate(1000);
        EXPECT_EQ(CALL(cuMemFreeAsync)(plain, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemFree_v2)(pooled), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaPools, OfTheProgramCanBeTheCurrentOne) {
    in_process([] {
        make_context();
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemoryPool own = nullptr;
        CUmemoryPool current = nullptr;
        EXPECT_EQ(CALL(cuMemPoolCreate)(&own, &props), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuDeviceSetMemPool)(0, own), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuDeviceGetMemPool)(&current, 0), CUDA_SUCCESS);
        EXPECT_EQ(current, own);
        const std::size_t before = free_memory();
        CUdeviceptr address = 0;
        auto* const of_thread =
            reinterpret_cast<decltype(&cuMemAllocAsync)>(cuda_symbol("cuMemAllocAsync_ptsz"));
        EXPECT_EQ(of_thread(&address, 3 * kMi, nullptr), CUDA_SUCCESS);
        EXPECT_GE(attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 3 * kMi);
        EXPECT_EQ(CALL(cuMemPoolDestroy)(own), CUDA_SUCCESS);
        EXPECT_LT(free_memory(), before) << "the pool lives as long as its memory";
        EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
    });
}

CUmemGenericAllocationHandle create(std::size_t bytes, int type = CU_MEM_LOCATION_TYPE_DEVICE) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location = {type, 0};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate)(&handle, bytes, &prop, 0), CUDA_SUCCESS);
    return handle;
}

void map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    access.flags = 3;
    EXPECT_EQ(CALL(cuMemMap)(address, bytes, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemSetAccess)(address, bytes, &access, 1), CUDA_SUCCESS);
}

TEST_F(CudaMappings, KeepMemoryThatWasReleasedUntilTheyEnd) {
    in_process([] {
        make_context();
        const std::size_t before = free_memory();
        const auto handle = create(4 * kMi);
        EXPECT_EQ(before - free_memory(), 4 * kMi);
        CUdeviceptr first = 0;
        CUdeviceptr second = 0;
        EXPECT_EQ(CALL(cuMemAddressReserve)(&first, 4 * kMi, 0, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemAddressReserve)(&second, 4 * kMi, 0, 0, 0), CUDA_SUCCESS);
        map(first, 4 * kMi, handle);
        EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(before - free_memory(), 4 * kMi);

        CUmemGenericAllocationHandle again = 0;
        auto* const inside = reinterpret_cast<void*>(first + 5);
        EXPECT_EQ(CALL(cuMemRetainAllocationHandle)(&again, inside), CUDA_SUCCESS);
        map(second, 4 * kMi, again);
        EXPECT_EQ(CALL(cuMemsetD8_v2)(first + 77, 9, 1), CUDA_SUCCESS);
        char seen = 0;
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&seen, second + 77, 1), CUDA_SUCCESS);
        EXPECT_EQ(seen, 9) << "one memory at two addresses";

        EXPECT_EQ(CALL(cuMemUnmap)(first, 4 * kMi), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemRelease)(again), CUDA_SUCCESS);
        EXPECT_EQ(before - free_memory(), 4 * kMi);
        EXPECT_EQ(CALL(cuMemUnmap)(second, 4 * kMi), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
        EXPECT_EQ(CALL(cuMemAddressFree)(first, 4 * kMi), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemAddressFree)(second, 4 * kMi), CUDA_SUCCESS);
    });
}

TEST_F(CudaMappings, AreOfWholeBlocksAndHostMemoryCostsTheDeviceNothing) {
    in_process([] {
        make_context();
        CUmemAllocationProp prop{};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        std::size_t granularity = 0;
        EXPECT_EQ(CALL(cuMemGetAllocationGranularity)(&granularity, &prop, 0), CUDA_SUCCESS);
        EXPECT_EQ(granularity, 2 * kMi);
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(CALL(cuMemCreate)(&handle, kMi, &prop, 0), CUDA_ERROR_INVALID_VALUE);
        const std::size_t before = free_memory();
        const auto host = create(2 * kMi, CU_MEM_LOCATION_TYPE_HOST_NUMA);
        EXPECT_EQ(free_memory(), before);
        EXPECT_EQ(CALL(cuMemRelease)(host), CUDA_SUCCESS);
    });
}

TEST_F(CudaSharing, OfMappedMemoryGoesThroughAFileAndIsPaidOnce) {
    in_process([] {
        make_context();
        const auto handle = create(2 * kMi);
        int file = -1;
        EXPECT_EQ(CALL(cuMemExportToShareableHandle)(&file, handle,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_SUCCESS);
        const std::size_t before = free_memory();
        CUmemGenericAllocationHandle imported = 0;
        EXPECT_EQ(CALL(cuMemImportFromShareableHandle)(
                      &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                  CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
        CUmemAllocationProp prop{};
        EXPECT_EQ(CALL(cuMemGetAllocationPropertiesFromHandle)(&prop, imported), CUDA_SUCCESS);
        EXPECT_EQ(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
        ::close(file);
        EXPECT_EQ(CALL(cuMemRelease)(imported), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    });
}

TEST_F(CudaSharing, BetweenProcessesShowsTheSameBytes) {
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const pid_t owner = start_process([&] {
        make_context();
        const CUdeviceptr address = allocate(3 * kMi);
        EXPECT_EQ(CALL(cuMemsetD8_v2)(address, 1, 100), CUDA_SUCCESS);
        CUipcMemHandle handle{};
        EXPECT_EQ(CALL(cuIpcGetMemHandle)(&handle, address), CUDA_SUCCESS);
        EXPECT_EQ(::write(sockets[0], &handle, sizeof handle), ssize_t{sizeof handle});
        char byte = 0;
        EXPECT_EQ(::read(sockets[0], &byte, 1), 1);
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&byte, address + 50, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 2) << "what the other process wrote";
        EXPECT_EQ(CALL(cuMemFree_v2)(address), CUDA_SUCCESS);
    });
    in_process([&] {
        make_context();
        CUipcMemHandle handle{};
        EXPECT_EQ(::read(sockets[1], &handle, sizeof handle), ssize_t{sizeof handle});
        const std::size_t before = free_memory();
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuIpcOpenMemHandle_v2)(&address, handle, 1), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
        char byte = 0;
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&byte, address + 50, 1), CUDA_SUCCESS);
        EXPECT_EQ(byte, 1);
        EXPECT_EQ(CALL(cuMemsetD8_v2)(address + 50, 2, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuIpcCloseMemHandle)(address), CUDA_SUCCESS);
        EXPECT_EQ(::write(sockets[1], "x", 1), 1);
    });
    finish(owner);
    ::close(sockets[0]);
    ::close(sockets[1]);
}

}  // namespace
}  // namespace aliquot::contract
