// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "onnx/session.h"
#include "vision/detections.h"
#include "vision/letterbox.h"

/// The vision worker: pictures by HTTP or from a folder, boxes and classes out, in batches, within its share of a GPU.
namespace aliquot::vision_worker {

enum class Task : std::uint8_t { kAuto, kDetect, kClassify };

struct Settings {
    std::string model;    // an ONNX file
    std::string library;  // ONNX Runtime; empty: by its usual names
    std::string listen = ":8000";
    std::string folder;         // empty: serve HTTP
    std::string results = "-";  // of the folder; "-": standard output
    double bench_seconds = 0;   // above 0: measure the model and end

    Task task = Task::kAuto;
    vision::OutputLayout layout = vision::OutputLayout::kAuto;
    std::string labels;  // a file; empty: those that the model carries
    std::uint32_t side =
        0;  // of the input, where the model leaves it free; 0: its imgsz, else 640, of a classifier 224
    std::vector<double> mean;
    std::vector<double> deviation;
    vision::DetectionLimits limits;
    std::size_t top = 5;  // classes of a classifier's answer

    std::vector<onnx::Provider> providers{onnx::Provider::kTensorRt, onnx::Provider::kCuda,
                                          onnx::Provider::kCpu};
    bool gpu_wanted = false;  // without a GPU it does not start
    unsigned device = 0;
    std::uint64_t gpu_memory_bytes = 0;  // 0: what the driver tells this process
    std::string engine_cache;
    bool half_precision = false;
    int threads = 0;  // of the CPU; 0: as many cores as it may use

    std::size_t most_batch = 0;  // 0: by the memory
    std::chrono::microseconds batch_wait{2000};
    std::size_t most_waiting = 1024;
    std::chrono::milliseconds timeout{10'000};
    std::chrono::milliseconds run_limit{10'000};  // of the device for a batch
    std::size_t most_body_bytes = std::size_t{16} << 20U;
    std::size_t most_connections = 4096;
    vision::ImageLimits image_limits;

    std::vector<std::string> notes;  // of settings that mean nothing here
};

/// What to print instead of running.
struct EarlyExit {
    std::string text;
    int exit_code = 0;
    bool to_stderr = false;
};

/// Options come before the environment; names of the environment are in the help.
std::variant<Settings, EarlyExit> read_settings(
    int argc, const char* const* argv, const std::map<std::string, std::string>& environment);

}  // namespace aliquot::vision_worker
