// SPDX-License-Identifier: Apache-2.0
//
// Memory that lives on where no address shows it: in parts of sparse arrays, and bound to a multicast
// object by the address where it is mapped.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"
#include "tests/contract/guard/spin_kernel.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr std::uint64_t kPiece = 128 * kMi;
constexpr unsigned kTries = 8;  // with a context beside them not all fit into 1 GiB
constexpr unsigned kWidth = 4096;
constexpr unsigned kHeight = kPiece / 16 / kWidth;  // 16 bytes a texel

/// What books and driver held when it was made, and hold more by now.
class Base {
public:
    void is_followed_by(std::uint64_t bytes) const {
        (void)memory_view();
        CHECK_EQ(physical_used() - physical_, bytes);
        CHECK_EQ(counted() - counted_, bytes);
    }
    [[nodiscard]] std::uint64_t physical() const { return physical_used() - physical_; }
    [[nodiscard]] std::uint64_t in_books() const { return counted() - counted_; }

private:
    std::uint64_t physical_ = physical_used();
    std::uint64_t counted_ = counted();
};

/// False: no room. The handle is the caller's.
bool create_piece(CUmemGenericAllocationHandle& handle) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    const CUresult result = CU(cuMemCreate)(&handle, kPiece, &prop, 0);
    if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    return result == CUDA_SUCCESS;
}

CUarray sparse_array() {
    const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = kWidth,
                                        .Height = kHeight,
                                        .Depth = 0,
                                        .Format = CU_AD_FORMAT_FLOAT,
                                        .NumChannels = 4,
                                        .Flags = CUDA_ARRAY3D_SPARSE};
    CUarray array = nullptr;
    const CUresult made = CU(cuArray3DCreate_v2)(&array, &shape);
    skip_when_unsupported(made, "a sparse array");
    CHECK_OK(made);
    return array;
}

/// The rows from `first` of an array, mapped to the beginning of the memory.
CUarrayMapInfo rows_of(CUarray array, unsigned first, unsigned rows,
                       CUmemGenericAllocationHandle handle) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetY = first;
    info.subresource.sparseLevel.extentWidth = kWidth;
    info.subresource.sparseLevel.extentHeight = rows;
    info.subresource.sparseLevel.extentDepth = 1;
    info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = handle;
    info.deviceBitMask = 1;
    return info;
}

void map(CUarrayMapInfo* list, unsigned count) {
    const CUresult result = CU(cuMemMapArrayAsync)(list, count, work_stream());
    skip_when_unsupported(result, "cuMemMapArrayAsync");
    CHECK_OK(result);
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
}

void unmap(CUarrayMapInfo info) {
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandle.memHandle = 0;
    map(&info, 1);
}

}  // namespace

void memory_in_sparse_arrays_is_counted() {
    start_cuda();
    (void)work_stream();
    const Base base;
    CUarray arrays[kTries] = {};
    for (CUarray& array : arrays) array = sparse_array();
    base.is_followed_by(0);  // an array without memory has none
    unsigned fit = 0;
    for (; fit < kTries; ++fit) {
        CUmemGenericAllocationHandle handle = 0;
        if (!create_piece(handle)) break;
        CUarrayMapInfo whole = rows_of(arrays[fit], 0, kHeight, handle);
        map(&whole, 1);
        CHECK_OK(CU(cuMemRelease)(handle));  // what is mapped lives on
        base.is_followed_by((fit + 1) * kPiece);
    }
    CHECK_GT(fit, 2U);
    CHECK_LT(fit, kTries);
    unmap(rows_of(arrays[0], 0, kHeight, 0));
    base.is_followed_by((fit - 1) * kPiece);
    CHECK_OK(CU(cuArrayDestroy)(arrays[1]));  // goes with what is mapped
    base.is_followed_by((fit - 2) * kPiece);
    arrays[1] = nullptr;
    for (CUarray array : arrays)
        if (array != nullptr) CHECK_OK(CU(cuArrayDestroy)(array));
    base.is_followed_by(0);
}

void parts_unmapped_behind_work_are_counted_until_then() {
    start_cuda();
    CUstream stream = work_stream();
    const Base base;
    CUarray array = sparse_array();
    CUmemGenericAllocationHandle handle = 0;
    CHECK_THAT(create_piece(handle));
    CUarrayMapInfo whole = rows_of(array, 0, kHeight, handle);
    map(&whole, 1);
    CHECK_OK(CU(cuMemRelease)(handle));
    const Spin spin;
    CHECK_OK(spin.launch(stream, 400 * kMillisecond));
    whole.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    whole.memHandle.memHandle = 0;
    CHECK_OK(CU(cuMemMapArrayAsync)(&whole, 1, stream));
    // Books first: by the time that the driver is asked it may have less, never more.
    for (;;) {
        const std::uint64_t drivers = base.physical();
        (void)memory_view();
        if (drivers == 0) break;
        const std::uint64_t books = base.in_books();
        CHECK_GE(books, base.physical());
        nap_us(2000);
    }
    CHECK_OK(CU(cuStreamSynchronize)(stream));
    base.is_followed_by(0);
    // Whoever needs the room meanwhile waits for it.
    unsigned fit = 0;
    CUarray arrays[kTries] = {};
    for (; fit < kTries; ++fit) {
        arrays[fit] = sparse_array();
        if (!create_piece(handle)) break;
        CUarrayMapInfo part = rows_of(arrays[fit], 0, kHeight, handle);
        map(&part, 1);
        CHECK_OK(CU(cuMemRelease)(handle));
    }
    CHECK_OK(spin.launch(stream, 200 * kMillisecond));
    CUarrayMapInfo part = rows_of(arrays[0], 0, kHeight, 0);
    part.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    CHECK_OK(CU(cuMemMapArrayAsync)(&part, 1, stream));
    CHECK_THAT(create_piece(handle));
    CHECK_OK(CU(cuMemRelease)(handle));
    base.is_followed_by((fit - 1) * kPiece);
    for (CUarray one : arrays)
        if (one != nullptr) CHECK_OK(CU(cuArrayDestroy)(one));
    CHECK_OK(CU(cuArrayDestroy)(array));
    base.is_followed_by(0);
}

void first_allocations_of_many_pools_at_once_stay_within() {
    constexpr unsigned kPools = 8;
    constexpr std::uint64_t kPoolPiece = 32 * kMi;  // a pool grows by it
    start_cuda();
    const Base base;
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemoryPool pools[kPools] = {};
    CUstream streams[kPools] = {};
    for (unsigned i = 0; i < kPools; ++i) {
        const CUresult made = CU(cuMemPoolCreate)(&pools[i], &props);
        skip_when_unsupported(made, "cuMemPoolCreate");
        CHECK_OK(made);
        CHECK_OK(CU(cuStreamCreate)(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    // Another pool grows by less: that says nothing of these.
    CUmemPoolProps small = props;
    small.maxSize = 2 * kMi;
    CUmemoryPool small_pool = nullptr;
    CHECK_OK(CU(cuMemPoolCreate)(&small_pool, &small));
    CUdeviceptr in_small = 0;
    CHECK_OK(CU(cuMemAllocFromPoolAsync)(&in_small, kMi, small_pool, streams[0]));
    CHECK_OK(CU(cuStreamSynchronize)(streams[0]));
    (void)memory_view();
    // Less is left than one pool's piece, more than all of them ask for.
    std::vector<CUdeviceptr> filled;
    for (CUdeviceptr one = 0; CU(cuMemAlloc_v2)(&one, 4 * kMi) == CUDA_SUCCESS;)
        filled.push_back(one);
    for (int i = 0; i < 7; ++i) {
        CHECK_OK(CU(cuMemFree_v2)(filled.back()));
        filled.pop_back();
    }
    const std::uint64_t full = base.physical() + 28 * kMi;
    CUcontext context = nullptr;
    CHECK_OK(CU(cuCtxGetCurrent)(&context));
    const auto allocate = CU(cuMemAllocFromPoolAsync);
    const auto set_context = CU(cuCtxSetCurrent);
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kPools; ++i)
        threads.emplace_back([&, i] {
            CHECK_OK(set_context(context));
            ready.fetch_add(1);
            while (ready.load() != kPools) std::this_thread::yield();
            CUdeviceptr pointer = 0;
            const CUresult result = allocate(&pointer, 2 * kMi, pools[i], streams[i]);
            if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_LE(base.physical(), full + kPoolPiece);
}

void memory_in_two_parts_goes_with_the_last() {
    start_cuda();
    (void)work_stream();
    const Base base;
    CUarray array = sparse_array();
    CUmemGenericAllocationHandle handle = 0;
    CHECK_THAT(create_piece(handle));
    CUarrayMapInfo halves[] = {rows_of(array, 0, kHeight / 2, handle),
                               rows_of(array, kHeight / 2, kHeight / 2, handle)};
    map(halves, 2);
    CHECK_OK(CU(cuMemRelease)(handle));
    base.is_followed_by(kPiece);
    unmap(halves[1]);
    base.is_followed_by(kPiece);
    unmap(halves[0]);
    base.is_followed_by(0);
    // What the driver refuses changes nothing: this part is not mapped, and that memory is gone.
    CUarrayMapInfo again = halves[0];
    again.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    CHECK_EQ(CU(cuMemMapArrayAsync)(&again, 1, work_stream()), CUDA_ERROR_INVALID_VALUE);
    CHECK_THAT(create_piece(handle));
    CUarrayMapInfo wrong = rows_of(array, 1, kHeight / 2, handle);  // no whole tiles
    CHECK_EQ(CU(cuMemMapArrayAsync)(&wrong, 1, work_stream()), CUDA_ERROR_INVALID_VALUE);
    CHECK_OK(CU(cuMemRelease)(handle));
    base.is_followed_by(0);
    CHECK_OK(CU(cuArrayDestroy)(array));
}

void memory_bound_by_its_address_is_counted() {
    start_cuda();
    const Base base;
    CUmulticastObjectProp wanted{};
    wanted.numDevices = 1;
    wanted.size = kTries * kPiece;
    CUmemGenericAllocationHandle object = 0;
    const CUresult made = CU(cuMulticastCreate)(&object, &wanted);
    skip_when_unsupported(made, "cuMulticastCreate");
    CHECK_OK(made);
    CHECK_OK(CU(cuMulticastAddDevice)(object, 0));
    CUdeviceptr at = 0;
    CHECK_OK(CU(cuMemAddressReserve)(&at, kPiece, 0, 0, 0));
    unsigned fit = 0;
    for (; fit < kTries; ++fit) {
        CUmemGenericAllocationHandle handle = 0;
        if (!create_piece(handle)) break;
        CHECK_OK(CU(cuMemMap)(at, kPiece, 0, handle, 0));
        const CUresult bound = CU(cuMulticastBindAddr)(object, fit * kPiece, at, kPiece, 0);
        skip_when_unsupported(bound, "cuMulticastBindAddr");
        CHECK_OK(bound);
        CHECK_OK(CU(cuMemUnmap)(at, kPiece));
        CHECK_OK(CU(cuMemRelease)(handle));  // bound: it lives on without handle and mapping
        base.is_followed_by((fit + 1) * kPiece);
    }
    CHECK_GT(fit, 2U);
    CHECK_LT(fit, kTries);
    CHECK_EQ(CU(cuMulticastBindAddr)(object, 0, at, kPiece, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_OK(CU(cuMulticastUnbind)(object, 0, kPiece, kPiece));
    base.is_followed_by((fit - 1) * kPiece);
    CHECK_OK(CU(cuMemRelease)(object));
    base.is_followed_by(0);
    CHECK_OK(CU(cuMemAddressFree)(at, kPiece));
}

}  // namespace aliquot::guardkit::checks
