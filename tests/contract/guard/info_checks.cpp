// SPDX-License-Identifier: Apache-2.0
//
// The slice as programs see it: through CUDA and through NVML.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

nvmlDevice_t nvml_device(unsigned gpu = 0) {
    CHECK_OK(NVML(nvmlInit_v2)());
    nvmlDevice_t device = nullptr;
    CHECK_OK(NVML(nvmlDeviceGetHandleByIndex_v2)(gpu, &device));
    return device;
}

nvmlMemory_t nvml_memory(nvmlDevice_t device) {
    nvmlMemory_t memory{};
    CHECK_OK(NVML(nvmlDeviceGetMemoryInfo)(device, &memory));
    return memory;
}

CUdeviceptr allocated(std::uint64_t bytes) {
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, bytes));
    return pointer;
}

/// One list of processes in the given version, by the two-step way.
template <class Info, class Call>
std::vector<Info> list_of(nvmlDevice_t device, const Call& call) {
    unsigned count = 0;
    const nvmlReturn_t first = call(device, &count, nullptr);
    if (first == NVML_SUCCESS) {
        CHECK_EQ(count, 0U);
        return {};
    }
    CHECK_EQ(first, NVML_ERROR_INSUFFICIENT_SIZE);
    CHECK_GE(count, 1U);
    std::vector<Info> infos(count + 4);
    count = static_cast<unsigned>(infos.size());
    CHECK_OK(call(device, &count, infos.data()));
    infos.resize(count);
    return infos;
}

template <class Info>
void has_only(const std::vector<Info>& infos, const std::vector<pid_t>& wanted) {
    CHECK_EQ(infos.size(), wanted.size());
    for (const pid_t pid : wanted) {
        bool found = false;
        for (const Info& info : infos) found = found || info.pid == static_cast<unsigned>(pid);
        CHECK_THAT(found);
    }
}

}  // namespace

void the_view_is_the_slice() {
    start_cuda();
    View view = memory_view();
    CHECK_EQ(view.total, 2 * kGi);
    CHECK_LE(view.free, view.total);
    CHECK_EQ(view.free % (2 * kMi), 0U);
    const CUdeviceptr pointer = allocated(512 * kMi);
    const View less = memory_view();
    CHECK_EQ(less.total, view.total);
    CHECK_LE(less.free, view.free - 512 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    std::size_t bytes = 0;
    CHECK_OK(CU(cuDeviceTotalMem_v2)(&bytes, 0));
    CHECK_EQ(bytes, 2 * kGi);
    CHECK_EQ(CU(cuDeviceTotalMem_v2)(&bytes, 99), BARE(cuDeviceTotalMem_v2)(&bytes, 99));
    CHECK_EQ(CU(cuDeviceTotalMem_v2)(nullptr, 0), BARE(cuDeviceTotalMem_v2)(nullptr, 0));
}

void the_view_with_one_answer_not_wanted() {
    start_cuda();
    std::size_t bytes = 0;
    CHECK_EQ(CU(cuMemGetInfo_v2)(nullptr, &bytes), BARE(cuMemGetInfo_v2)(nullptr, &bytes));
    CHECK_EQ(CU(cuMemGetInfo_v2)(nullptr, nullptr), BARE(cuMemGetInfo_v2)(nullptr, nullptr));
    if (CU(cuMemGetInfo_v2)(nullptr, &bytes) == CUDA_SUCCESS) CHECK_EQ(bytes, 2 * kGi);
    if (CU(cuMemGetInfo_v2)(&bytes, nullptr) == CUDA_SUCCESS) CHECK_LE(bytes, 2 * kGi);
}

void what_is_free_can_be_had() {
    start_cuda();
    // Frameworks take a part of what is said to be free, in one piece.
    const CUdeviceptr pointer = allocated(memory_view().free);
    CHECK_LT(memory_view().free, 4 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void no_limit_changes_nothing() {
    start_cuda();
    const View view = memory_view();
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(BARE(cuMemGetInfo_v2)(&free, &total));
    CHECK_EQ(view.free, free);
    CHECK_EQ(view.total, total);
    const CUdeviceptr pointer = allocated(total / 2);
    CHECK_OK(BARE(cuMemGetInfo_v2)(&free, &total));
    CHECK_EQ(memory_view().free, free);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CUdeviceptr other = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&other, total + kGi), BARE(cuMemAlloc_v2)(&other, total + kGi));
    const nvmlDevice_t device = nvml_device();
    nvmlMemory_t memory{};
    CHECK_OK(BARE_NVML(nvmlDeviceGetMemoryInfo)(device, &memory));
    CHECK_EQ(nvml_memory(device).total, memory.total);
    CHECK_EQ(nvml_memory(device).used, memory.used);
}

void a_limit_above_the_gpu_shows_the_gpu() {
    start_cuda();
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(BARE(cuMemGetInfo_v2)(&free, &total));
    const View view = memory_view();
    CHECK_EQ(view.total, total);
    CHECK_LE(view.free, free);
    CHECK_EQ(nvml_memory(nvml_device()).total, physical_total());
    CUdeviceptr pointer = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, total + kGi), CUDA_ERROR_OUT_OF_MEMORY);
}

void one_pool_of_memory_in_cuda_and_nvml() {
    start_cuda();
    const CUdeviceptr pointer = allocated(300 * kMi);
    const nvmlDevice_t device = nvml_device();
    const bool consistent = eventually([&] {  // the overhead may change between the two
        const View view = memory_view();
        const nvmlMemory_t memory = nvml_memory(device);
        return memory.total == view.total && memory.used + memory.free == memory.total &&
               memory.free >= view.free && memory.free < view.free + 2 * kMi;
    });
    if (!consistent) {
        CHECK_EQ(nvml_memory(device).total, memory_view().total);
        CHECK_EQ(nvml_memory(device).free / (2 * kMi), memory_view().free / (2 * kMi));
        CHECK_THAT(consistent);
    }
    CHECK_GE(nvml_memory(device).used, 300 * kMi);
    nvmlMemory_v2_t second{};
    second.version = nvmlMemory_v2;
    CHECK_OK(NVML(nvmlDeviceGetMemoryInfo_v2)(device, &second));
    CHECK_EQ(second.total, 2 * kGi);
    CHECK_EQ(second.total, second.free + second.used + second.reserved);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void wrong_questions_to_nvml_get_nvmls_answer() {
    nvmlMemory_t memory{};
    CHECK_EQ(NVML(nvmlDeviceGetMemoryInfo)(nullptr, &memory),
             BARE_NVML(nvmlDeviceGetMemoryInfo)(nullptr, &memory));  // before init
    const nvmlDevice_t device = nvml_device();
    for (const unsigned version : {0U, 1U, nvmlMemory_v2 + 1, 0xffffffffU}) {
        nvmlMemory_v2_t second{};
        second.version = version;
        nvmlMemory_v2_t bare = second;
        CHECK_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(device, &second),
                 BARE_NVML(nvmlDeviceGetMemoryInfo_v2)(device, &bare));
        CHECK_EQ(std::memcmp(&second, &bare, sizeof bare), 0);
    }
    CHECK_EQ(NVML(nvmlDeviceGetMemoryInfo)(device, nullptr),
             BARE_NVML(nvmlDeviceGetMemoryInfo)(device, nullptr));
    CHECK_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(device, nullptr),
             BARE_NVML(nvmlDeviceGetMemoryInfo_v2)(device, nullptr));
    const auto list = NVML(nvmlDeviceGetComputeRunningProcesses_v3);
    const auto bare_list = BARE_NVML(nvmlDeviceGetComputeRunningProcesses_v3);
    CHECK_EQ(list(device, nullptr, nullptr), bare_list(device, nullptr, nullptr));
    unsigned count = 3;
    unsigned bare_count = 3;
    CHECK_EQ(list(nullptr, &count, nullptr), bare_list(nullptr, &bare_count, nullptr));
    CHECK_EQ(count, bare_count);
}

void nvml_alone_shows_the_slice() {
    // nvidia-smi never says cuInit.
    const nvmlDevice_t device = nvml_device();
    CHECK_EQ(nvml_memory(device).total, 2 * kGi);
    CHECK_EQ(nvml_memory(device).used, 0U);
    Worker worker = Worker::start();
    CHECK_EQ(worker.number("init"), 0);
    CHECK_EQ(worker.number("alloc 536870912"), 0);
    CHECK_GE(nvml_memory(device).used, 512 * kMi);
    CHECK_EQ(nvml_memory(device).total, nvml_memory(device).used + nvml_memory(device).free);
}

void processes_of_this_container_only() {
    // The list of checks has another process on the GPU, which is not ours.
    start_cuda();
    const CUdeviceptr pointer = allocated(100 * kMi);
    Worker worker = Worker::start();
    CHECK_EQ(worker.number("init"), 0);
    CHECK_EQ(worker.number("alloc 209715200"), 0);
    const nvmlDevice_t device = nvml_device();
    const std::vector<pid_t> ours = {::getpid(), worker.pid()};
    const auto third =
        list_of<nvmlProcessInfo_t>(device, NVML(nvmlDeviceGetComputeRunningProcesses_v3));
    has_only(third, ours);
    has_only(list_of<nvmlProcessInfo_v2_t>(device, NVML(nvmlDeviceGetComputeRunningProcesses_v2)),
             ours);
    has_only(list_of<nvmlProcessInfo_v1_t>(device, NVML(nvmlDeviceGetComputeRunningProcesses)),
             ours);
    std::uint64_t sum = 0;
    for (const nvmlProcessInfo_t& info : third) {
        CHECK_GE(info.usedGpuMemory,
                 info.pid == static_cast<unsigned>(worker.pid()) ? 200 * kMi : 100 * kMi);
        sum += info.usedGpuMemory;
    }
    CHECK_LE(sum, nvml_memory(device).used + 4 * kMi);

    unsigned count = 1;  // too little room: how many there are, and nothing written behind
    nvmlProcessInfo_t two[2] = {};
    two[1].pid = 4242;
    CHECK_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, two),
             NVML_ERROR_INSUFFICIENT_SIZE);
    CHECK_GE(count, 2U);
    CHECK_EQ(two[1].pid, 4242U);
    worker.kill();
    CHECK_THAT(eventually([&] {
        return list_of<nvmlProcessInfo_t>(device, NVML(nvmlDeviceGetComputeRunningProcesses_v3))
                   .size() == 1;
    }));
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void calls_leave_errno_alone() {
    start_cuda();
    const auto allocate = CU(cuMemAlloc_v2);
    const auto release = CU(cuMemFree_v2);
    const auto info = CU(cuMemGetInfo_v2);
    CUdeviceptr pointer = 0;
    std::size_t free = 0;
    std::size_t total = 0;
    errno = 4321;
    CHECK_OK(allocate(&pointer, kMi));
    CHECK_EQ(errno, 4321);
    CHECK_OK(info(&free, &total));
    CHECK_EQ(errno, 4321);
    CHECK_OK(release(pointer));
    CHECK_EQ(errno, 4321);
    CHECK_EQ(allocate(&pointer, 3 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(errno, 4321);
    (void)CU(cuStreamSynchronize)(nullptr);
    (void)CU(cuCtxSynchronize)();
    CHECK_EQ(errno, 4321);
}

}  // namespace aliquot::guardkit::checks
