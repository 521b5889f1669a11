// SPDX-License-Identifier: Apache-2.0
//
// Contexts, several GPUs, threads and signals.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr std::uint64_t kSize = 64 * kMi;

CUdeviceptr allocated(std::uint64_t bytes = kSize) {
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, bytes));
    return pointer;
}

CUcontext primary_of(int ordinal) {
    CUdevice device = -1;
    CHECK_OK(CU(cuDeviceGet)(&device, ordinal));
    CUcontext context = nullptr;
    CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&context, device));
    return context;
}

/// NVML's place of what CUDA calls `ordinal`.
unsigned gpu_of(int ordinal) {
    CUuuid uuid{};
    CHECK_OK(CU(cuDeviceGetUuid_v2)(&uuid, ordinal));
    for (unsigned gpu = 0; gpu < environment_number("ALIQUOT_GUARD_KIT_GPUS", 1); ++gpu) {
        unsigned char bytes[16];
        gpu_uuid(gpu, bytes);
        if (std::memcmp(bytes, uuid.bytes, sizeof bytes) == 0) return gpu;
    }
    fail(__FILE__, __LINE__, "CUDA names a GPU that NVML does not");
}

}  // namespace

void a_context_takes_its_allocations_along() {
    start_cuda();
    const std::uint64_t before = counted();
    CUcontext context = nullptr;
    const CUresult made = CU(cuCtxCreate_v2)(&context, 0, 0);
    CHECK_OK(made);
    for (int i = 0; i < 10; ++i) (void)allocated(kMi * 2);
    CHECK_EQ(counted(), before + 20 * kMi);
    CHECK_OK(CU(cuCtxDestroy_v2)(context));
    CHECK_EQ(counted(), before);
    check_sums();
}

void a_reset_takes_all_allocations_along() {
    const CUcontext context = start_cuda();
    const std::uint64_t before = counted();
    (void)allocated();
    (void)allocated();
    CHECK_EQ(counted(), before + 2 * kSize);
    CHECK_OK(CU(cuDevicePrimaryCtxReset_v2)(0));
    CHECK_EQ(counted(), 0U);
    check_sums();
    // And all of the limit can be used anew.
    CUcontext again = nullptr;
    CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
    CHECK_OK(CU(cuCtxSetCurrent)(again));
    const CUdeviceptr pointer = allocated(512 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    (void)context;
}

void the_last_release_of_a_primary_context_is_a_reset() {
    start_cuda();
    (void)allocated();
    CUcontext second = nullptr;
    CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&second, 0));
    const std::uint64_t with = counted();
    CHECK_OK(CU(cuDevicePrimaryCtxRelease_v2)(0));
    CHECK_EQ(counted(), with);  // one is left
    CHECK_OK(CU(cuDevicePrimaryCtxRelease_v2)(0));
    CHECK_EQ(counted(), 0U);
    check_sums();
}

void contexts_come_and_go_without_a_trace() {
    start_cuda();
    const std::uint64_t before = counted();
    for (int i = 0; i < 50; ++i) {
        CUcontext context = nullptr;
        CHECK_OK(CU(cuCtxCreate_v2)(&context, 0, 0));
        (void)allocated(4 * kMi);
        CHECK_OK(CU(cuCtxDestroy_v2)(context));
    }
    CHECK_EQ(counted(), before);
    check_sums();
    const CUdeviceptr pointer = allocated(kGi);  // of 4 GiB
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void what_a_context_costs_is_counted() {
    physical_base();
    start_cuda();
    const std::uint64_t truth = physical_used() - physical_base();
    // Either the guard knows what the driver took, or it assumes no less.
    const View view = memory_view();
    CHECK_GE(view.total - view.free + 2 * kMi, truth);
    check_physical(4 * kGi);
}

void memory_may_be_freed_under_another_context() {
    const CUcontext first = start_cuda();
    const std::uint64_t before = counted();
    CUcontext second = nullptr;
    CHECK_OK(CU(cuCtxCreate_v2)(&second, 0, 0));
    const CUdeviceptr there = allocated();
    CHECK_OK(CU(cuCtxSetCurrent)(first));
    const CUdeviceptr here = allocated();
    CHECK_EQ(counted(), before + 2 * kSize);
    CHECK_OK(CU(cuMemFree_v2)(there));
    CHECK_OK(CU(cuCtxSetCurrent)(second));
    CHECK_OK(CU(cuMemFree_v2)(here));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuCtxDestroy_v2)(second));
}

void each_gpu_has_its_own_account() {
    const CUcontext first = start_cuda(0);
    const CUcontext second = primary_of(1);
    const std::uint64_t before[2] = {counted(0), counted(1)};
    CHECK_OK(CU(cuCtxSetCurrent)(second));
    const CUdeviceptr there = allocated();
    CHECK_EQ(counted(0), before[0]);
    CHECK_EQ(counted(1), before[1] + kSize);
    CHECK_OK(CU(cuCtxSetCurrent)(first));
    CHECK_OK(CU(cuMemFree_v2)(there));  // from the other GPU's context
    CHECK_EQ(counted(0), before[0]);
    CHECK_EQ(counted(1), before[1]);
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    CUmemGenericAllocationHandle handle = 0;
    if (CU(cuMemCreate)(&handle, kSize, &prop, 0) == CUDA_SUCCESS) {
        CHECK_EQ(counted(0), before[0]);
        CHECK_EQ(counted(1), before[1] + kSize);
        CHECK_OK(CU(cuMemRelease)(handle));
    }
    check_sums(0);
    check_sums(1);
}

void each_gpu_has_its_own_limit() {
    // 1 GiB for GPU 0 and 2 GiB for GPU 1.
    const CUcontext first = start_cuda(0);
    const CUcontext second = primary_of(1);
    CHECK_OK(CU(cuCtxSetCurrent)(first));
    CHECK_EQ(memory_view().total, kGi);
    CUdeviceptr pointer = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, kGi + kMi), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_OK(CU(cuCtxSetCurrent)(second));
    CHECK_EQ(memory_view().total, 2 * kGi);
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kGi + kMi));
    std::size_t bytes = 0;
    CHECK_OK(CU(cuDeviceTotalMem_v2)(&bytes, 0));
    CHECK_EQ(bytes, kGi);
    CHECK_OK(CU(cuDeviceTotalMem_v2)(&bytes, 1));
    CHECK_EQ(bytes, 2 * kGi);
}

void limits_stay_with_their_gpus_in_another_order() {
    // 1 GiB for GPU 0, 2 GiB for GPU 1, and CUDA counts them the other way round.
    CHECK_OK(CU(cuInit)(0));
    if (gpu_of(0) == 0) skip("this driver does not read CUDA_VISIBLE_DEVICES");
    start_cuda(0);
    CHECK_EQ(memory_view().total, 2 * kGi);
    const std::uint64_t before = counted(1);
    const CUdeviceptr pointer = allocated(kGi + 128 * kMi);
    CHECK_EQ(counted(1), before + kGi + 128 * kMi);
    CHECK_EQ(counted(0), 0U);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_OK(CU(cuCtxSetCurrent)(primary_of(1)));
    CHECK_EQ(memory_view().total, kGi);
    nvmlMemory_t memory{};
    CHECK_OK(NVML(nvmlInit_v2)());
    nvmlDevice_t device = nullptr;
    CHECK_OK(NVML(nvmlDeviceGetHandleByIndex_v2)(1, &device));  // NVML does not re-order
    CHECK_OK(NVML(nvmlDeviceGetMemoryInfo)(device, &memory));
    CHECK_EQ(memory.total, 2 * kGi);
}

void only_the_second_gpu_is_visible() {
    CHECK_OK(CU(cuInit)(0));
    int count = 0;
    CHECK_OK(CU(cuDeviceGetCount)(&count));
    if (count != 1) skip("this driver does not read CUDA_VISIBLE_DEVICES");
    start_cuda(0);
    CHECK_EQ(memory_view().total, 2 * kGi);
    const CUdeviceptr pointer = allocated(kGi + 128 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void many_threads_allocate_at_once() {
    const CUcontext context = start_cuda();
    const std::uint64_t before = counted();
    std::atomic<int> wrong{0};
    const unsigned long rounds = scaled(20'000, 10);
    const auto allocate = CU(cuMemAlloc_v2);
    const auto release = CU(cuMemFree_v2);
    const auto use = CU(cuCtxSetCurrent);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            if (use(context) != CUDA_SUCCESS) ++wrong;
            std::vector<CUdeviceptr> mine;
            for (unsigned long k = 0; k < rounds; ++k) {
                CUdeviceptr pointer = 0;
                const CUresult result = allocate(
                    &pointer, (std::uint64_t{1} << (k + static_cast<unsigned>(i)) % 24) + 1);
                if (result == CUDA_SUCCESS) mine.push_back(pointer);
                if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY) ++wrong;
                if (mine.size() > 16) {
                    if (release(mine.front()) != CUDA_SUCCESS) ++wrong;
                    mine.erase(mine.begin());
                }
            }
            for (const CUdeviceptr one : mine)
                if (release(one) != CUDA_SUCCESS) ++wrong;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(wrong.load(), 0);
    CHECK_EQ(counted(), before);
    check_sums();
}

namespace {

std::atomic<unsigned> handled{0};
std::atomic<unsigned> wrong_in_handler{0};
decltype(&cuMemAlloc_v2) allocate_in_handler = nullptr;
decltype(&cuMemFree_v2) free_in_handler = nullptr;

void on_alarm(int /*number*/) {
    CUdeviceptr pointer = 0;
    if (allocate_in_handler(&pointer, kMi) != CUDA_SUCCESS ||
        free_in_handler(pointer) != CUDA_SUCCESS) {
        ++wrong_in_handler;
    }
    ++handled;
}

}  // namespace

void a_signal_in_the_middle_of_an_allocation() {
    // Over a driver without locks of its own: whatever stops here is the guard.
    start_cuda();
    const std::uint64_t before = counted();
    allocate_in_handler = CU(cuMemAlloc_v2);
    free_in_handler = CU(cuMemFree_v2);
    struct sigaction action {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 50},
                          .it_value = {.tv_sec = 0, .tv_usec = 50}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    const std::uint64_t end = now_ns() + 500'000'000;
    while (now_ns() < end) {
        const CUdeviceptr pointer = allocated(kMi);
        CHECK_OK(CU(cuMemFree_v2)(pointer));
    }
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    CHECK_GE(handled.load(), 1U);
    CHECK_EQ(wrong_in_handler.load(), 0U);
    CHECK_EQ(counted(), before);
    check_sums();
}

}  // namespace aliquot::guardkit::checks
