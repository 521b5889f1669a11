// SPDX-License-Identifier: Apache-2.0
//
// Memory: every kind is counted, given back and stopped at the limit; plain allocations in all odd
// ways.
#include <cerrno>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"
#include "tests/contract/guard/ledger_view.h"

namespace aliquot::guardkit::checks {
namespace {

void is_counted(const char* name) {
    const Kind& kind = kind_named(name);
    physical_base();
    start_cuda();
    // Once for what comes with the first use.
    Held first;
    const CUresult tried = allocate_once(kind, first);
    skip_when_unsupported(tried, name);
    CHECK_OK(tried);
    CHECK_OK(kind.release(first));

    const std::uint64_t before = counted();
    const std::uint64_t truth_before = physical_used();
    Held held;
    CHECK_OK(allocate_once(kind, held));
    const std::uint64_t charge = counted() - before;
    CHECK_GE(charge, kind.bytes);
    CHECK_LE(charge, kind.bytes + kind.slack);
    CHECK_GE(charge + 2 * kMi, physical_used() - truth_before);  // never less than the truth
    check_sums();
    CHECK_OK(kind.release(held));
    CHECK_EQ(counted(), before);
    check_sums();
}

void stops_at_limit(const char* name) {
    const Kind& kind = kind_named(name);
    const std::uint64_t limit = kGi;  // as the list of checks asks for
    physical_base();
    start_cuda();
    Held first;
    const CUresult tried = allocate_once(kind, first);
    skip_when_unsupported(tried, name);
    CHECK_OK(tried);
    CHECK_OK(kind.release(first));

    const std::uint64_t before = counted();
    std::vector<Held> all;
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && all.size() < 4096) {
        Held held;
        result = allocate_once(kind, held);
        if (result == CUDA_SUCCESS) all.push_back(held);
    }
    CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    check_physical(limit);
    CHECK_LE(kind.bytes * all.size(), limit);
    CHECK_LE(memory_view().free, kind.bytes + kind.slack);  // not refused before it was full
    CHECK_GE(all.size(), 1UZ);
    if (LedgerView::readable()) CHECK_GE(LedgerView::read().denied(), 1U);

    // What is freed can be used at once: frameworks empty their caches and try again.
    CHECK_OK(kind.release(all.back()));
    CHECK_OK(allocate_once(kind, all.back()));
    check_physical(limit);
    for (Held& held : all) CHECK_OK(kind.release(held));
    CHECK_EQ(counted(), before);
    check_sums();
}

CUdeviceptr must_alloc(std::uint64_t bytes) {
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, bytes));
    return pointer;
}

}  // namespace

#define BOTH(kind)                                  \
    void kind##_is_counted() { is_counted(#kind); } \
    void kind##_stops_at_the_limit() { stops_at_limit(#kind); }
BOTH(alloc)
BOTH(alloc_odd)
BOTH(alloc_old)
BOTH(managed)
BOTH(pitch)
BOTH(pitch_narrow)
BOTH(array_1d)
BOTH(array_2d)
BOTH(array_old)
BOTH(array_3d)
BOTH(array_3d_old)
BOTH(array_layered)
BOTH(mipmap)
BOTH(vmm)
BOTH(async)
BOTH(async_freed_plainly)
BOTH(own_pool)
BOTH(graph_node)
BOTH(captured)
#undef BOTH

void one_byte_too_many_is_refused() {
    start_cuda();
    CUdeviceptr pointer = 0x5a5a;
    errno = 1234;
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, kGi + 1), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(pointer, CUdeviceptr{0x5a5a});
    CHECK_EQ(errno, 1234);
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, kGi), CUDA_ERROR_OUT_OF_MEMORY);  // a context is there
}

void sizes_without_sense_are_the_drivers_to_answer() {
    start_cuda();
    const std::uint64_t before = counted();
    const std::uint64_t physical = physical_total();
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1} << 51, std::uint64_t{1} << 63, ~std::uint64_t{0},
          ~std::uint64_t{0} - 511}) {
        CUdeviceptr pointer = 0;
        const CUresult bare = BARE(cuMemAlloc_v2)(&pointer, size);
        if (bare == CUDA_SUCCESS) CHECK_OK(BARE(cuMemFree_v2)(pointer));
        CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, size), bare);
        CHECK_EQ(counted(), before);
    }
    CHECK_EQ(physical_total(), physical);
}

void no_output_pointer_is_the_drivers_to_answer() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUresult bare = BARE(cuMemAlloc_v2)(nullptr, kMi);
    CHECK_EQ(CU(cuMemAlloc_v2)(nullptr, kMi), bare);
    CHECK_EQ(counted(), before);
    const CUresult array = BARE(cuArrayCreate_v2)(nullptr, nullptr);
    CHECK_EQ(CU(cuArrayCreate_v2)(nullptr, nullptr), array);
    const CUresult created = BARE(cuMemCreate)(nullptr, kMi * 2, nullptr, 0);
    CHECK_EQ(CU(cuMemCreate)(nullptr, kMi * 2, nullptr, 0), created);
    CHECK_EQ(counted(), before);
}

void unknown_pointers_get_the_drivers_answer() {
    start_cuda();
    const CUdeviceptr mine = must_alloc(64 * kMi);
    const std::uint64_t before = counted();
    for (const CUdeviceptr odd : {CUdeviceptr{0}, CUdeviceptr{1}, CUdeviceptr{0xdeadbeef000},
                                  mine + 512, ~CUdeviceptr{0}}) {
        const CUresult bare = BARE(cuMemFree_v2)(odd);
        CHECK_EQ(CU(cuMemFree_v2)(odd), bare);
        CHECK_EQ(counted(), before);
    }
    CHECK_OK(CU(cuMemFree_v2)(mine));
}

void freeing_twice_gives_back_once() {
    start_cuda();
    const std::uint64_t before = counted();
    CUdeviceptr pointer = 0;
    CHECK_OK(BARE(cuMemAlloc_v2)(&pointer, 64 * kMi));
    CHECK_OK(BARE(cuMemFree_v2)(pointer));
    const CUresult bare = BARE(cuMemFree_v2)(pointer);
    const CUdeviceptr other = must_alloc(32 * kMi);
    pointer = must_alloc(64 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_EQ(CU(cuMemFree_v2)(pointer), bare);
    CHECK_EQ(counted(), before + 32 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(other));
    CHECK_EQ(counted(), before);
}

void pointers_that_the_driver_gave_past_us_are_no_loss() {
    start_cuda();
    const std::uint64_t before = counted();
    CUdeviceptr pointer = 0;
    CHECK_OK(BARE(cuMemAlloc_v2)(&pointer, 64 * kMi));
    CHECK_OK(CU(cuMemFree_v2)(pointer));  // unknown to the guard, known to the driver
    CHECK_EQ(counted(), before);
    pointer = must_alloc(64 * kMi);
    CHECK_OK(BARE(cuMemFree_v2)(pointer));
    // The driver gives the address again: the old record must make room, not fail.
    CUdeviceptr again = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&again, 64 * kMi));
    CHECK_OK(CU(cuMemFree_v2)(again));
    check_sums();
}

void tiny_allocations_cost_what_they_take() {
    physical_base();
    start_cuda();
    const unsigned long many = scaled(3'000'000, 2);
    const std::uint64_t before = counted();
    const std::uint64_t truth_before = physical_used();
    const auto allocate = CU(cuMemAlloc_v2);
    std::vector<CUdeviceptr> all;
    CUdeviceptr pointer = 0;
    while (all.size() < many && allocate(&pointer, 4) == CUDA_SUCCESS) all.push_back(pointer);
    CHECK_GE(counted() - before + 4 * kMi, physical_used() - truth_before);
    CHECK_GE(counted() - before, all.size() * 512);
    check_physical(4 * kGi);
    const auto release = CU(cuMemFree_v2);
    for (const CUdeviceptr one : all) CHECK_OK(release(one));
    CHECK_EQ(counted(), before);
}

void mixed_sizes_leave_nothing_behind() {
    start_cuda();
    const std::uint64_t before = counted();
    std::vector<CUdeviceptr> all;
    std::uint64_t random = 88172645463325252ULL;
    const auto next = [&random] {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    };
    const unsigned long rounds = scaled(100'000, 10);
    for (unsigned long i = 0; i < rounds; ++i) {
        if (!all.empty() && (next() & 1) != 0) {
            const std::size_t at = next() % all.size();
            CHECK_OK(CU(cuMemFree_v2)(all[at]));
            all[at] = all.back();
            all.pop_back();
            continue;
        }
        CUdeviceptr pointer = 0;
        const std::uint64_t bytes = std::uint64_t{1} << next() % 27;
        const CUresult result = CU(cuMemAlloc_v2)(&pointer, bytes + next() % bytes);
        if (result == CUDA_SUCCESS) {
            all.push_back(pointer);
        } else {
            CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
        }
    }
    check_sums();
    check_physical(4 * kGi);
    for (const CUdeviceptr one : all) CHECK_OK(CU(cuMemFree_v2)(one));
    CHECK_EQ(counted(), before);
    check_sums();
}

void plain_memory_may_be_freed_in_stream_order() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUdeviceptr pointer = must_alloc(64 * kMi);
    CUdeviceptr own = 0;
    CHECK_OK(BARE(cuMemAlloc_v2)(&own, kMi));
    const CUresult bare = BARE(cuMemFreeAsync)(own, work_stream());
    CHECK_EQ(CU(cuMemFreeAsync)(pointer, work_stream()), bare);
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    if (bare == CUDA_SUCCESS) CHECK_EQ(counted(), before);
}

void host_memory_is_not_counted() {
    start_cuda();
    const std::uint64_t before = counted();
    void* memory = nullptr;
    const CUresult result = CU(cuMemHostAlloc)(&memory, kMi, 0);
    skip_when_unsupported(result, "cuMemHostAlloc");
    CHECK_OK(result);
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemFreeHost)(memory));
    CHECK_EQ(counted(), before);
}

void an_array_without_memory_is_not_counted() {
    start_cuda();
    const std::uint64_t before = counted();
    for (const unsigned flag : {CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING}) {
        const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = 4096,
                                            .Height = 4096,
                                            .Depth = 0,
                                            .Format = CU_AD_FORMAT_FLOAT,
                                            .NumChannels = 4,
                                            .Flags = flag};
        CUarray array = nullptr;
        const CUresult result = CU(cuArray3DCreate_v2)(&array, &shape);
        skip_when_unsupported(result, "an array whose memory comes later");
        CHECK_OK(result);
        CHECK_EQ(counted(), before);
        CHECK_OK(CU(cuArrayDestroy)(array));
        CHECK_EQ(counted(), before);
    }
}

void a_full_slice_still_shows_a_sound_view() {
    start_cuda();
    std::vector<CUdeviceptr> all;
    CUdeviceptr pointer = 0;
    while (CU(cuMemAlloc_v2)(&pointer, 16 * kMi) == CUDA_SUCCESS) all.push_back(pointer);
    View view = memory_view();
    CHECK_EQ(view.total, kGi);
    CHECK_LT(view.free, 18 * kMi);
    CHECK_EQ(view.free % (2 * kMi), 0U);
    for (const CUdeviceptr one : all) CHECK_OK(CU(cuMemFree_v2)(one));
    CHECK_GE(memory_view().free, view.free + all.size() * 16 * kMi - 2 * kMi);
}

}  // namespace aliquot::guardkit::checks
