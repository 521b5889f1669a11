// SPDX-License-Identifier: Apache-2.0
// Work takes time on the device, in turns when several processes have some.
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kMs = 1'000'000;

class CudaTime : public CudaLibrary {};
class SimulatedCudaTime : public SimulatedCuda {};

CUevent make_event(unsigned flags = 0) {
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, flags), CUDA_SUCCESS);
    return event;
}

float between(CUevent start, CUevent end) {
    float milliseconds = -1;
    EXPECT_EQ(CALL(cuEventElapsedTime)(&milliseconds, start, end), CUDA_SUCCESS);
    return milliseconds;
}

TEST_F(SimulatedCudaTime, PassesAsLongAsKernelsTake) {
    make_node({"a2"});
    in_process([] {
        make_context();
        const CUevent start = make_event();
        const CUevent end = make_event();
        const auto before = Clock::now();
        EXPECT_EQ(CALL(cuEventRecord)(start, nullptr), CUDA_SUCCESS);
        for (int i = 0; i < 10; ++i) spin(5 * kMs);
        EXPECT_EQ(CALL(cuEventRecord)(end, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuEventQuery)(end), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(cuStreamQuery)(nullptr), CUDA_ERROR_NOT_READY);
        float milliseconds = 0;
        EXPECT_EQ(CALL(cuEventElapsedTime)(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(cuEventSynchronize)(end), CUDA_SUCCESS);
        EXPECT_GE(Clock::now() - before, std::chrono::milliseconds(50));
        EXPECT_EQ(CALL(cuStreamQuery)(nullptr), CUDA_SUCCESS);
        EXPECT_GE(between(start, end), 50.0F);
    });
    EXPECT_TRUE(node().processes(0).empty());
}

TEST_F(SimulatedCudaTime, BetweenEventsIsThatOfTheDeviceHoweverLateOneLooks) {
    make_node({"a2"});
    in_process([] {
        make_context();
        const CUevent start = make_event();
        const CUevent end = make_event();
        spin(kMs);
        EXPECT_EQ(CALL(cuEventRecord)(start, nullptr), CUDA_SUCCESS);
        spin(7 * kMs);
        EXPECT_EQ(CALL(cuEventRecord)(end, nullptr), CUDA_SUCCESS);
        ::usleep(30'000);
        EXPECT_EQ(CALL(cuEventSynchronize)(end), CUDA_SUCCESS);
        // The launch itself may be late, then the device rested in between.
        EXPECT_GE(between(start, end), 7.0F);
    });
}

TEST_F(SimulatedCudaTime, IsSharedByProcessesThatBothHaveWork) {
    make_node({"a2"});
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    const auto work = [&] {
        make_context();
        spin(1);  // the image is loaded
        char byte = 0;
        EXPECT_EQ(::read(gate[0], &byte, 1), 1);
        const CUevent start = make_event();
        const CUevent end = make_event();
        EXPECT_EQ(CALL(cuEventRecord)(start, nullptr), CUDA_SUCCESS);
        for (int i = 0; i < 100; ++i) spin(3 * kMs);
        EXPECT_EQ(CALL(cuEventRecord)(end, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuEventSynchronize)(end), CUDA_SUCCESS);
        EXPECT_GE(between(start, end), 400.0F) << "300 ms of work, and turns of another process";
    };
    const pid_t first = start_process(work);
    const pid_t second = start_process(work);
    ASSERT_EQ(::write(gate[1], "xx", 2), 2);
    finish(first);
    finish(second);
    ::close(gate[0]);
    ::close(gate[1]);
}

TEST_F(SimulatedCudaTime, OfAKilledProcessIsGivenToTheOthers) {
    make_node({"a2"});
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t hog = start_process([&] {
        make_context();
        spin(3600'000 * kMs);
        (void)!::write(ready[1], "x", 1);
        ::pause();
    });
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const pid_t other = start_process([&] {
        make_context();
        spin(500 * kMs);
        (void)!::write(ready[1], "x", 1);
        EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    });
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(hog, SIGKILL);
    finish(other);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(SimulatedCudaTime, OfEveryKernelCanBeSet) {
    make_node({"a2"});
    in_process(
        [&] {
            make_context();
            CUmodule module = nullptr;
            CUfunction any = nullptr;
            EXPECT_EQ(CALL(cuModuleLoadData)(&module, "some image"), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuModuleGetFunction)(&any, module, "anything"), CUDA_SUCCESS);
            for (int i = 0; i < 4; ++i) {
                EXPECT_EQ(
                    CALL(cuLaunchKernel)(any, 9, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr),
                    CUDA_SUCCESS);
            }
            EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
            const auto views = node().processes(0);
            ASSERT_EQ(views.size(), 1U);
            EXPECT_EQ(views[0].submitted_ns, 4 * 250'000U);
            EXPECT_EQ(views[0].executed_ns, views[0].submitted_ns);
        },
        {{"ALIQUOT_SIM_CUDA_KERNEL_NS", "250000"}});
}

TEST_F(CudaTime, ComesWithRightResults) {
    in_process([] {
        make_context();
        constexpr unsigned kSide = 33;
        std::vector<float> a(kSide * kSide);
        std::vector<float> b(kSide * kSide);
        for (unsigned i = 0; i < kSide * kSide; ++i) {
            a[i] = static_cast<float>(i % 7);
            b[i] = static_cast<float>(i % 5);
        }
        const std::size_t bytes = a.size() * 4;
        CUdeviceptr on_device[3] = {allocate(bytes), allocate(bytes), allocate(bytes)};
        EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(on_device[0], a.data(), bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(on_device[1], b.data(), bytes), CUDA_SUCCESS);
        unsigned side = kSide;
        void* arguments[] = {&on_device[0], &on_device[1], &on_device[2], &side};
        EXPECT_EQ(CALL(cuLaunchKernel)(load_kernel("matmul"), 2, 2, 1, 32, 32, 1, 0, nullptr,
                                       arguments, nullptr),
                  CUDA_SUCCESS);
        std::vector<float> c(a.size());
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(c.data(), on_device[2], bytes), CUDA_SUCCESS);
        float expected = 0;
        for (unsigned k = 0; k < kSide; ++k) expected += a[5 * kSide + k] * b[k * kSide + 6];
        EXPECT_EQ(c[5 * kSide + 6], expected);
    });
}

TEST_F(SimulatedCudaTime, StopsWhereAKernelTouchesWhatIsNotThere) {
    make_node({"a2"});
    in_process([] {
        make_context();
        CUdeviceptr nowhere = 0x1000;
        float value = 0;
        unsigned count = 10;
        void* arguments[] = {&nowhere, &value, &count};
        EXPECT_EQ(CALL(cuLaunchKernel)(load_kernel("fill"), 1, 1, 1, 32, 1, 1, 0, nullptr,
                                       arguments, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 4), CUDA_ERROR_ILLEGAL_ADDRESS) << "for good";
    });
}

TEST_F(CudaTime, ReachesFunctionsOfTheProgram) {
    in_process([] {
        make_context();
        static int calls = 0;
        spin(kMs);
        EXPECT_EQ(CALL(cuLaunchHostFunc)(
                      nullptr, [](void* data) { ++*static_cast<int*>(data); }, &calls),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(calls, 1);
    });
}

}  // namespace
}  // namespace aliquot::contract
