// SPDX-License-Identifier: Apache-2.0
// Which work of several streams runs at the same time. Kernels run for hours, so that what is looked
// at does not depend on how quickly the test gets there: how much work a device has been given is known
// at once.
#include <thread>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;

class SimulatedStreams : public SimulatedCuda {
protected:
    void SetUp() override {
        SimulatedCuda::SetUp();
        if (!is_real()) make_node({"a2"});
    }
    /// Work that this process' device has, in hours, rounded.
    double given_hours() {
        const auto views = node().processes(0);
        EXPECT_EQ(views.size(), 1U);
        return static_cast<double>((views.at(0).submitted_ns + kHour / 2) / kHour);
    }
};

CUstream new_stream(unsigned flags) {
    CUstream stream = nullptr;
    EXPECT_EQ(CALL(cuStreamCreate)(&stream, flags), CUDA_SUCCESS);
    return stream;
}

/// A kernel of an hour.
void run_for_an_hour(CUstream stream, unsigned blocks = 1) {
    static CUfunction const kernel = load_kernel("spin");
    std::uint64_t nanoseconds = kHour;
    void* arguments[] = {&nanoseconds};
    EXPECT_EQ(CALL(cuLaunchKernel)(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr),
              CUDA_SUCCESS);
}

TEST_F(SimulatedStreams, RunAtTheSameTimeWhereTheDeviceHasRoom) {
    in_process([&] {
        make_context();
        for (int i = 0; i < 64; ++i) run_for_an_hour(new_stream(CU_STREAM_NON_BLOCKING));
        EXPECT_EQ(given_hours(), 1);
    });
}

TEST_F(SimulatedStreams, RunOneAfterTheOtherWhereEachKernelFillsTheDevice) {
    in_process([&] {
        make_context();
        for (int i = 0; i < 4; ++i) run_for_an_hour(new_stream(CU_STREAM_NON_BLOCKING), 100'000);
        EXPECT_EQ(given_hours(), 4);
    });
}

TEST_F(SimulatedStreams, RunAtTheSameTimeAsFarAsTheDeviceIsWide) {
    in_process([&] {
        make_context();
        // An A2 has 10 multiprocessors with room for 32 blocks each; four of these fit at once.
        for (int i = 0; i < 10; ++i) run_for_an_hour(new_stream(CU_STREAM_NON_BLOCKING), 80);
        EXPECT_EQ(given_hours(), 3);
    });
}

TEST_F(SimulatedStreams, KeepTheirOwnOrder) {
    in_process([&] {
        make_context();
        const CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
        for (int i = 0; i < 3; ++i) run_for_an_hour(stream);
        EXPECT_EQ(given_hours(), 3);
    });
}

TEST_F(SimulatedStreams, ThatBlockWaitForTheLegacyStreamAndItForThem) {
    in_process([&] {
        make_context();
        run_for_an_hour(new_stream(0));
        run_for_an_hour(new_stream(0));
        run_for_an_hour(nullptr);
        run_for_an_hour(new_stream(0));
        EXPECT_EQ(given_hours(), 3);
        run_for_an_hour(new_stream(CU_STREAM_NON_BLOCKING));
        EXPECT_EQ(given_hours(), 3) << "one that does not block waits for nothing";
    });
}

TEST_F(SimulatedStreams, OfThreadsRunAtTheSameTime) {
    in_process([&] {
        const CUcontext context = make_context();
        auto* const own = reinterpret_cast<CUstream>(std::uintptr_t{CU_STREAM_PER_THREAD_VALUE});
        run_for_an_hour(own);
        std::thread other([&] {
            EXPECT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
            run_for_an_hour(own);
        });
        other.join();
        EXPECT_EQ(given_hours(), 1);
        run_for_an_hour(nullptr);
        EXPECT_EQ(given_hours(), 2) << "the legacy stream waits for those of threads";
    });
}

TEST_F(SimulatedStreams, WaitForEventsOfOthers) {
    in_process([&] {
        make_context();
        const CUstream first = new_stream(CU_STREAM_NON_BLOCKING);
        const CUstream second = new_stream(CU_STREAM_NON_BLOCKING);
        CUevent event = nullptr;
        EXPECT_EQ(CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        run_for_an_hour(first);
        EXPECT_EQ(CALL(cuEventRecord)(event, first), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamWaitEvent)(second, event, 0), CUDA_SUCCESS);
        run_for_an_hour(second);
        EXPECT_EQ(given_hours(), 2);
    });
}

TEST_F(SimulatedStreams, AreDoneOneByOne) {
    in_process([&] {
        make_context();
        const CUstream slow = new_stream(CU_STREAM_NON_BLOCKING);
        const CUstream quick = new_stream(CU_STREAM_NON_BLOCKING);
        CUevent ends[2] = {};
        for (CUevent& end : ends) EXPECT_EQ(CALL(cuEventCreate)(&end, 0), CUDA_SUCCESS);
        run_for_an_hour(slow);
        EXPECT_EQ(CALL(cuEventRecord)(ends[0], slow), CUDA_SUCCESS);
        spin(2'000'000, quick);
        EXPECT_EQ(CALL(cuEventRecord)(ends[1], quick), CUDA_SUCCESS);
        const CUdeviceptr memory = allocate(4);
        EXPECT_EQ(CALL(cuMemsetD32Async)(memory, 7, 1, quick), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamSynchronize)(quick), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuEventQuery)(ends[1]), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuEventQuery)(ends[0]), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(cuStreamQuery)(slow), CUDA_ERROR_NOT_READY);
        unsigned value = 0;
        EXPECT_EQ(CALL(cuMemcpyDtoHAsync_v2)(&value, memory, 4, quick), CUDA_SUCCESS);
        EXPECT_EQ(value, 7U);
    });
}

}  // namespace
}  // namespace aliquot::contract
