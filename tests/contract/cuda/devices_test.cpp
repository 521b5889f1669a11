// SPDX-License-Identifier: Apache-2.0
// Devices as programs see them, and their contexts.
#include <cstring>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

class CudaDevices : public CudaLibrary {};
class SimulatedCudaDevices : public SimulatedCuda {};
class CudaContexts : public CudaLibrary {};
class SimulatedCudaContexts : public SimulatedCuda {};

std::string name_of(CUdevice device) {
    char name[100] = {};
    EXPECT_EQ(CALL(cuDeviceGetName)(name, sizeof name, device), CUDA_SUCCESS);
    return name;
}

int count() {
    int devices = -1;
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDeviceGetCount)(&devices), CUDA_SUCCESS);
    return devices;
}

TEST_F(SimulatedCudaDevices, AreThoseOfTheNodeInTheOrderAsked) {
    make_node({"a2", "h100-80"});
    in_process([] {
        EXPECT_EQ(count(), 2);
        EXPECT_EQ(name_of(0), "NVIDIA H100 80GB HBM3") << "the faster one first";
        EXPECT_EQ(name_of(1), "NVIDIA A2");
        int major = 0;
        EXPECT_EQ(CALL(cuDeviceGetAttribute)(&major, 75, 0), CUDA_SUCCESS);
        EXPECT_EQ(major, 9);
    });
    in_process([] { EXPECT_EQ(name_of((count(), 0)), "NVIDIA A2"); },
               {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}});
}

TEST_F(SimulatedCudaDevices, AreChosenByIndexOrUuid) {
    make_node({"a2", "h100-80", "t4"});
    const std::string uuid = node().gpus()[0].uuid;
    const CudaLibrary::Environment by_bus = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
    const auto with = [&](const std::string& chosen) {
        auto environment = by_bus;
        environment["CUDA_VISIBLE_DEVICES"] = chosen;
        return environment;
    };
    in_process(
        [] {
            EXPECT_EQ(count(), 2);
            EXPECT_EQ(name_of(0), "Tesla T4");
            EXPECT_EQ(name_of(1), "NVIDIA A2");
        },
        with("2,0,9,1"));
    in_process(
        [] {
            EXPECT_EQ(count(), 1);
            EXPECT_EQ(name_of(0), "NVIDIA A2");
        },
        with(uuid.substr(0, 12)));
    in_process([] { EXPECT_EQ(CALL(cuInit)(0), CUDA_ERROR_NO_DEVICE); }, with("-1"));
    in_process([] { EXPECT_EQ(CALL(cuInit)(0), CUDA_ERROR_NO_DEVICE); }, with(""));
    in_process(
        [] {
            EXPECT_EQ(count(), 1);
            EXPECT_EQ(name_of(0), "Tesla T4");
        },
        {{"ALIQUOT_SIM_VISIBLE_DEVICES", "2"}});
}

TEST_F(SimulatedCudaDevices, OfMigHaveTheirOwnUuidAndMemory) {
    make_node({"a100-40"});
    ASSERT_TRUE(node().cut(0, "3g.20gb,1g.5gb"));
    const auto views = node().gpus()[0].mig_devices;
    for (const auto& view : views) {
        in_process(
            [&] {
                EXPECT_EQ(count(), 1);
                make_context();
                std::size_t total = 0;
                EXPECT_EQ(CALL(cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
                EXPECT_LE(total, view.memory_total_bytes);
                EXPECT_GT(total, view.memory_total_bytes * 9 / 10);
                CUuuid own{};
                CUuuid of_gpu{};
                EXPECT_EQ(CALL(cuDeviceGetUuid_v2)(&own, 0), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuDeviceGetUuid)(&of_gpu, 0), CUDA_SUCCESS);
                EXPECT_NE(std::memcmp(&own, &of_gpu, sizeof own), 0);
                CUdeviceptr address = 0;
                EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, total), CUDA_ERROR_OUT_OF_MEMORY);
                EXPECT_EQ(node().processes(0).at(0).where, view.instance);
            },
            {{"CUDA_VISIBLE_DEVICES", view.uuid}});
    }
}

TEST_F(CudaContexts, OfTheDeviceAreSharedAndCounted) {
    in_process([] {
        EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        unsigned flags = 0;
        int active = 1;
        EXPECT_EQ(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
        EXPECT_EQ(active, 0);
        EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&first, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&second, 0), CUDA_SUCCESS);
        EXPECT_EQ(first, second);
        EXPECT_EQ(CALL(cuCtxSetCurrent)(first), CUDA_SUCCESS);
        const CUdeviceptr address = allocate(100);
        EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemsetD8_v2)(address, 1, 100), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemsetD8_v2)(address, 1, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST_F(CudaContexts, TakeTheirMemoryWithThem) {
    in_process([] {
        const CUcontext outer = make_context();
        const std::size_t before = free_memory();
        const CUcontext inner = make_context();
        allocate(40 << 20);
        allocate(40);
        EXPECT_LT(free_memory(), before);
        EXPECT_EQ(CALL(cuCtxDestroy_v2)(inner), CUDA_SUCCESS);
        CUcontext current = nullptr;
        EXPECT_EQ(CALL(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, outer);
        EXPECT_EQ(free_memory(), before);
    });
}

TEST_F(SimulatedCudaContexts, ThatDoNotFitAreRefusedAndLeaveNothing) {
    make_node({"a2"});
    in_process(
        [] {
            EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
            CUcontext context = nullptr;
            EXPECT_EQ(CALL(cuCtxCreate_v2)(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        },
        {{"ALIQUOT_SIM_CUDA_CONTEXT_BYTES", std::to_string(1ULL << 40)}});
    EXPECT_EQ(node().gpus()[0].processes, 0U);
}

TEST_F(CudaContexts, AreOfNoUseInAForkedChild) {
    in_process([&] {
        make_context();
        const pid_t child = ::fork();
        if (child == 0) {
            CUdeviceptr address = 0;
            const bool right = CALL(cuMemAlloc_v2)(&address, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                               CALL(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED;
            ::_exit(right ? 0 : 1);
        }
        finish(child);
        allocate(1);
    });
}

}  // namespace
}  // namespace aliquot::contract
