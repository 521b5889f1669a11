// SPDX-License-Identifier: Apache-2.0
// Stream capture, and graphs that come of it.
#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

constexpr std::size_t kMi = 1 << 20;

class CudaCapture : public CudaLibrary {};
class CudaGraphs : public CudaLibrary {};

CUstream make_stream() {
    CUstream stream = nullptr;
    EXPECT_EQ(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
}

void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    EXPECT_EQ(CALL(cuStreamBeginCapture_v2)(stream, mode), CUDA_SUCCESS);
}

TEST_F(CudaCapture, RecordsWorkInsteadOfDoingIt) {
    in_process([] {
        make_context();
        const CUstream stream = make_stream();
        const CUfunction fill = load_kernel("fill");
        CUdeviceptr address = allocate(400);
        float value = 2.5F;
        unsigned count = 100;
        void* arguments[] = {&address, &value, &count};
        begin(stream);
        EXPECT_EQ(CALL(cuLaunchKernel)(fill, 1, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr),
                  CUDA_SUCCESS);
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
        float seen = -1;
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&seen, address + 40, 4), CUDA_SUCCESS);
        EXPECT_EQ(seen, 0.0F);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&seen, address + 40, 4), CUDA_SUCCESS);
        EXPECT_EQ(seen, 2.5F);
        std::size_t nodes = 0;
        EXPECT_EQ(CALL(cuGraphGetNodes)(graph, nullptr, &nodes), CUDA_SUCCESS);
        EXPECT_EQ(nodes, 1U);
        EXPECT_EQ(CALL(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_SUCCESS);
    });
}

TEST_F(CudaCapture, IsSpoiltByWaitingForItsStream) {
    in_process([] {
        make_context();
        const CUstream stream = make_stream();
        begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        EXPECT_EQ(CALL(cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
        EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(cuStreamEndCapture)(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(graph, nullptr);
        EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    });
}

TEST_F(CudaCapture, BarsUnsafeCallsUnlessTheThreadIsRelaxed) {
    in_process([] {
        make_context();
        const CUstream stream = make_stream();
        begin(stream);
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        EXPECT_EQ(CALL(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        allocate(100);
        EXPECT_EQ(CALL(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 100), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(cuStreamEndCapture)(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        allocate(100);
    });
}

TEST_F(CudaCapture, SpreadsByEventsAndMustComeTogether) {
    in_process([] {
        make_context();
        const CUstream one = make_stream();
        const CUstream two = make_stream();
        CUevent fork = nullptr;
        CUevent join = nullptr;
        EXPECT_EQ(CALL(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        for (const bool joined : {true, false}) {
            begin(one);
            spin(1, one);
            EXPECT_EQ(CALL(cuEventRecord)(fork, one), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuStreamWaitEvent)(two, fork, 0), CUDA_SUCCESS);
            spin(1, two);
            EXPECT_EQ(CALL(cuEventRecord)(join, two), CUDA_SUCCESS);
            if (joined) {
                EXPECT_EQ(CALL(cuStreamWaitEvent)(one, join, 0), CUDA_SUCCESS);
            }
            CUgraph graph = nullptr;
            EXPECT_EQ(CALL(cuStreamEndCapture)(one, &graph),
                      joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        }
        EXPECT_EQ(CALL(cuEventQuery)(fork), CUDA_SUCCESS);
    });
}

TEST_F(CudaGraphs, PayForTheirMemoryWhenTheyRun) {
    in_process([] {
        make_context();
        const CUstream stream = make_stream();
        const std::size_t before = free_memory();
        begin(stream);
        CUdeviceptr address = 0;
        EXPECT_EQ(CALL(cuMemAllocAsync)(&address, 8 * kMi, stream), CUDA_SUCCESS);
        spin(1000, stream);
        EXPECT_EQ(CALL(cuMemFreeAsync)(address, stream), CUDA_SUCCESS);
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuGraphInstantiate_v2)(&exec, graph, nullptr, nullptr, 0), CUDA_SUCCESS);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(CALL(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_SUCCESS);
        }
        EXPECT_EQ(before - free_memory(), 8 * kMi) << "kept for the next launch";
        std::uint64_t reserved = 0;
        EXPECT_EQ(CALL(cuDeviceGetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                                     &reserved),
                  CUDA_SUCCESS);
        EXPECT_EQ(reserved, 8 * kMi);
        EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
        EXPECT_EQ(CALL(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_SUCCESS);
        EXPECT_EQ(free_memory(), before);
    });
}

TEST_F(CudaGraphs, ThatDoNotFitAnswerWhenTheyAreLaunched) {
    in_process([] {
        make_context();
        CUgraph graph = nullptr;
        CUgraphNode node = nullptr;
        EXPECT_EQ(CALL(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        CUgraphNodeParams params{};
        params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        params.alloc.bytesize = free_memory() + 2 * kMi;
        EXPECT_EQ(CALL(cuGraphAddNode)(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
        EXPECT_NE(params.alloc.dptr, 0U);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_SUCCESS);
    });
}

TEST_F(CudaGraphs, HaveNodesThatCanBeAskedAndChanged) {
    in_process([] {
        make_context();
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        CUdeviceptr address = allocate(400);
        float value = 1.0F;
        unsigned count = 100;
        void* arguments[] = {&address, &value, &count};
        CUDA_KERNEL_NODE_PARAMS params{};
        params.func = load_kernel("fill");
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = 128;
        params.blockDimY = params.blockDimZ = 1;
        params.kernelParams = arguments;
        CUgraphNode node = nullptr;
        EXPECT_EQ(CALL(cuGraphAddKernelNode_v2)(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
        CUDA_KERNEL_NODE_PARAMS told{};
        EXPECT_EQ(CALL(cuGraphKernelNodeGetParams_v2)(node, &told), CUDA_SUCCESS);
        EXPECT_EQ(told.func, params.func);
        EXPECT_EQ(told.blockDimX, 128U);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        value = 3.0F;
        EXPECT_EQ(CALL(cuGraphExecKernelNodeSetParams_v2)(exec, node, &params), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
        float seen = 0;
        EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&seen, address, 4), CUDA_SUCCESS);
        EXPECT_EQ(seen, 3.0F);
    });
}

}  // namespace
}  // namespace aliquot::contract
