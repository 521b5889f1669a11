// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/onnxruntime.h"
#include "sim/onnxruntime/gpu_arena.h"
#include "sim/onnxruntime/model.h"

// What the interface's names stand for in the simulated library.

struct OrtStatus {
    int code = ORT_FAIL;
    std::string message;
};
struct OrtEnv {
    OrtLoggingFunction log = nullptr;
};
struct OrtCUDAProviderOptionsV2 {
    unsigned device = 0;
    std::uint64_t limit_bytes = 0;
};
struct OrtSessionOptions {
    bool cuda = false;
    OrtCUDAProviderOptionsV2 gpu;
};
struct OrtSession {
    aliquot::sim::OnnxModel model;
    std::unique_ptr<aliquot::sim::GpuArena> gpu;  // null: on the CPU
};
struct OrtTensorTypeAndShapeInfo {
    int type = 0;
    std::vector<std::int64_t> shape;
};
struct OrtTypeInfo {
    OrtTensorTypeAndShapeInfo tensor;
};
struct OrtValue {
    OrtTensorTypeAndShapeInfo info;
    std::vector<float> numbers;  // of an output
};
struct OrtModelMetadata {
    const OrtSession* session = nullptr;
};
struct OrtMemoryInfo {};
struct OrtAllocator {};
