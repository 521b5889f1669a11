// SPDX-License-Identifier: Apache-2.0
// What device memory costs and holds.
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <numeric>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

constexpr std::size_t kMi = 1 << 20;

class CudaMemory : public CudaLibrary {};
class SimulatedCudaMemory : public SimulatedCuda {};

TEST_F(SimulatedCudaMemory, IsCountedInTheNodeUntilItIsFreed) {
    make_node({"a2"});
    const auto idle = node().gpus()[0].memory_used_bytes;
    in_process(
        [&] {
            const auto used = [&] { return node().gpus()[0].memory_used_bytes - idle; };
            make_context();
            EXPECT_EQ(used(), 64 * kMi);
            EXPECT_EQ(node().gpus()[0].processes, 1U);
            const CUdeviceptr large = allocate(5 * kMi);
            EXPECT_EQ(used(), (64 + 6) * kMi) << "whole blocks of 2 MiB";
            const CUdeviceptr small = allocate(100);
            const CUdeviceptr other = allocate(100);
            EXPECT_EQ(used(), (64 + 8) * kMi) << "small ones share a block";
            EXPECT_EQ(CALL(cuMemFree_v2)(large), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuMemFree_v2)(small), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuMemFree_v2)(other), CUDA_SUCCESS);
            EXPECT_EQ(used(), 64 * kMi);
            const auto views = node().processes(0);
            ASSERT_EQ(views.size(), 1U);
            EXPECT_EQ(views[0].pid, static_cast<std::uint32_t>(::getpid()));
            EXPECT_EQ(views[0].memory_peak_bytes, (64 + 8) * kMi);
        },
        {{"ALIQUOT_SIM_CUDA_CONTEXT_BYTES", std::to_string(64 * kMi)}});
    EXPECT_EQ(node().gpus()[0].memory_used_bytes, idle)
        << "of a process that has ended nothing stays";
    EXPECT_EQ(node().gpus()[0].memory_peak_bytes, (64 + 8) * kMi);
    node().reset_peaks();
    EXPECT_EQ(node().gpus()[0].memory_peak_bytes, 0U);
}

TEST_F(CudaMemory, EndsWhereTheDeviceIsFull) {
    in_process([] {
        make_context();
        CUdeviceptr address = 7;
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, free_memory() + kMi), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(address, 7U) << "what is not granted is not written";
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 0), CUDA_ERROR_INVALID_VALUE);
        std::size_t total = 0;
        EXPECT_EQ(CALL(cuMemGetInfo_v2)(nullptr, &total), CUDA_SUCCESS);
        EXPECT_GT(total, 0U);
    });
}

TEST_F(SimulatedCudaMemory, OfAKilledProcessIsFreeAgain) {
    make_node({"a2"});
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = start_process([&] {
        make_context();
        allocate(14ULL << 30);
        (void)!::write(ready[1], "x", 1);
        ::pause();
    });
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    in_process([] {
        make_context();
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 4ULL << 30), CUDA_ERROR_OUT_OF_MEMORY);
    });
    ::kill(child, SIGKILL);
    in_process([] {
        make_context();
        // The kernel may take a moment to end the process.
        CUdeviceptr address = 0;
        for (int i = 0; i < 2000 && address == 0; ++i) {
            if (CALL(cuMemAlloc_v2)(&address, 4ULL << 30) != CUDA_SUCCESS) ::usleep(1000);
        }
        EXPECT_NE(address, 0U);
    });
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(CudaMemory, KeepsWhatIsCopiedAndSet) {
    in_process([] {
        make_context();
        std::vector<std::uint32_t> out(100000);
        std::iota(out.begin(), out.end(), 1U);
        const std::size_t bytes = out.size() * 4;
        const CUdeviceptr a = allocate(bytes);
        const CUdeviceptr b = allocate(bytes);
        EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(a, out.data(), bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemcpyDtoD_v2)(b, a, bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemsetD32_v2)(b + 40, 0xabcd, 10), CUDA_SUCCESS);
        std::vector<std::uint32_t> in(out.size());
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(in.data(), b, bytes), CUDA_SUCCESS);
        for (std::size_t i = 10; i < 20; ++i) out[i] = 0xabcd;
        EXPECT_EQ(in, out);
        EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(b + bytes + (4 << 20), in.data(), 4),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(SimulatedCudaMemory, IsFreshWhenItWasFreed) {
    make_node({"a2"});
    in_process([] {
        make_context();
        for (int round = 0; round < 3; ++round) {
            const CUdeviceptr address = allocate(4 * kMi);
            std::uint32_t seen = 1;
            EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&seen, address + kMi, 4), CUDA_SUCCESS);
            EXPECT_EQ(seen, 0U);
            EXPECT_EQ(CALL(cuMemsetD8_v2)(address, 0xff, 4 * kMi), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuMemFree_v2)(address), CUDA_SUCCESS);
        }
    });
}

TEST_F(CudaMemory, WithAPitchHasRowsOf512Bytes) {
    in_process([] {
        make_context();
        CUdeviceptr address = 0;
        std::size_t pitch = 0;
        EXPECT_EQ(CALL(cuMemAllocPitch_v2)(&address, &pitch, 100, 16384, 4), CUDA_SUCCESS);
        EXPECT_EQ(pitch % 512, 0U);
        CUDA_MEMCPY2D copy{};
        std::vector<char> rows(100 * 3, 'r');
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = rows.data();
        copy.srcPitch = 100;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = address;
        copy.dstPitch = pitch;
        copy.WidthInBytes = 100;
        copy.Height = 3;
        EXPECT_EQ(CALL(cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
        std::string row(100, ' ');
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(row.data(), address + 2 * pitch, 100), CUDA_SUCCESS);
        EXPECT_EQ(row, std::string(100, 'r'));
        EXPECT_EQ(CALL(cuMemAllocPitch_v2)(&address, &pitch, 100, 1, 3), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(SimulatedCudaMemory, OfTheOldInterfaceLiesBelow4Gi) {
    make_node({"a2"});
    in_process([] {
        make_context();
        CUdeviceptr_v1 first = 0;
        CUdeviceptr_v1 second = 0;
        const std::size_t before = free_memory();
        EXPECT_EQ(CALL(cuMemAlloc)(&first, 1U << 30), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemAlloc)(&second, 16), CUDA_SUCCESS);
        EXPECT_EQ(before - free_memory(), (1U << 30) + 2 * kMi);
        EXPECT_EQ(CALL(cuMemsetD8)(first, 5, 1000), CUDA_SUCCESS);
        unsigned free = 0;
        unsigned total = 0;
        EXPECT_EQ(CALL(cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
        EXPECT_EQ(total, ~0U) << "more than fits";
        EXPECT_EQ(CALL(cuMemFree)(first), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemFree)(second), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
    });
}

TEST_F(CudaMemory, IsNotFreedTwiceNorByAnotherAddress) {
    in_process([] {
        make_context();
        const CUdeviceptr address = allocate(8 * kMi);
        EXPECT_EQ(CALL(cuMemFree_v2)(address + kMi), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuMemFree_v2)(address), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemFree_v2)(address), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuMemFree_v2)(0x1234), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(SimulatedCudaMemory, OfArraysIsToldBeforehandAndPaid) {
    make_node({"a2"});
    in_process([] {
        make_context();
        const std::size_t before = free_memory();
        const CUDA_ARRAY3D_DESCRIPTOR volume{512, 512, 16, CU_AD_FORMAT_FLOAT, 4, 0};
        CUarray array = nullptr;
        EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &volume), CUDA_SUCCESS);
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
        EXPECT_EQ(CALL(cuArrayGetMemoryRequirements)(&needs, array, 0), CUDA_SUCCESS);
        EXPECT_EQ(needs.size, 64 * kMi);
        EXPECT_EQ(before - free_memory(), 64 * kMi);
        EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_SUCCESS);
        CUmipmappedArray levels = nullptr;
        EXPECT_EQ(CALL(cuMipmappedArrayCreate)(&levels, &volume, 4), CUDA_SUCCESS);
        EXPECT_GT(before - free_memory(), 72 * kMi);
        EXPECT_EQ(CALL(cuMipmappedArrayDestroy)(levels), CUDA_SUCCESS);
        CUDA_ARRAY3D_DESCRIPTOR sparse = volume;
        sparse.Flags = CUDA_ARRAY3D_DEFERRED_MAPPING;
        EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &sparse), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
    });
}

TEST_F(SimulatedCudaMemory, CanBeAMillionAllocations) {
    make_node({"a2"});
    in_process([] {
        make_context();
        const std::size_t before = free_memory();
        std::vector<CUdeviceptr> all(1'000'000);
        auto* const alloc = CALL(cuMemAlloc_v2);
        auto* const release = CALL(cuMemFree_v2);
        int failures = 0;
        for (CUdeviceptr& address : all) failures += alloc(&address, 4) != CUDA_SUCCESS;
        EXPECT_EQ(failures, 0);
        EXPECT_EQ(before - free_memory(), (all.size() + 4095) / 4096 * 2 * kMi);
        for (const CUdeviceptr address : all) failures += release(address) != CUDA_SUCCESS;
        EXPECT_EQ(failures, 0);
        EXPECT_EQ(free_memory(), before);
    });
}

}  // namespace
}  // namespace aliquot::contract
