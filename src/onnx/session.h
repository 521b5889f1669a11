// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/runtime.h"

namespace aliquot::onnx {

/// What carries a model out.
enum class Provider : std::uint8_t { kCpu, kCuda, kTensorRt };
std::string_view name_of(Provider provider);  // "cpu", "cuda", "tensorrt"

struct SessionOptions {
    /// Tried in this order; the first that works is taken.
    std::vector<Provider> providers{Provider::kTensorRt, Provider::kCuda, Provider::kCpu};
    int threads = 0;                     // of one run on the CPU; 0: as many as the library likes
    unsigned device = 0;                 // index of the GPU
    std::uint64_t gpu_memory_bytes = 0;  // most of the runtime's arena; 0: no limit
    bool half_precision = false;         // TensorRT
    std::string engine_cache;            // folder of TensorRT's engines; empty: none
};

/// One input or output. An axis of -1 is free.
struct Port {
    std::string name;
    std::vector<std::int64_t> shape;
    int type = 0;  // ONNX_TENSOR_ELEMENT_DATA_TYPE_...
};

struct Output {
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
};

/// A model that is loaded. One thread at a time.
class Session {
public:
    /// errors   kInvalidInput: no model, or one that this library does not know; kConflict: no memory for it;
    ///          kUnavailable: no provider works (the message says each one's reason)
    static Result<std::unique_ptr<Session>> make(std::shared_ptr<const Runtime> runtime,
                                                 std::string_view model,
                                                 const SessionOptions& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] Provider provider() const { return provider_; }
    /// Why the providers before it were not taken, a line each.
    [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
    [[nodiscard]] const std::vector<Port>& inputs() const { return inputs_; }
    [[nodiscard]] const std::vector<Port>& outputs() const { return outputs_; }
    /// A text that the model's maker put into it; empty: none. Keys of ours: "names", "task", "stride".
    [[nodiscard]] std::string metadata(const std::string& key) const;

    /// Runs the model of one input on `numbers`, which are read only, and gives its first output.
    /// errors   kConflict: out of memory: the session may be of no use any more; kInvalidInput: the shape; kUnavailable
    Result<Output> run(std::span<const float> numbers, std::span<const std::int64_t> shape);

private:
    explicit Session(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}
    Result<Done> read_ports();
    Result<Port> read_port(std::size_t index, bool input) const;

    std::shared_ptr<const Runtime> runtime_;
    OrtSession* session_ = nullptr;
    OrtMemoryInfo* memory_ = nullptr;
    Provider provider_ = Provider::kCpu;
    std::vector<std::string> refused_;
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
};

}  // namespace aliquot::onnx
