// SPDX-License-Identifier: Apache-2.0
#include "onnx/session.h"

#include <array>
#include <cstring>

#include "base/text.h"
#include "onnx/half.h"

namespace aliquot::onnx {
namespace {

/// Ends a thing of the library with its scope.
template <class Thing>
class Owned {
public:
    Owned(void (*release)(Thing*)) : release_(release) {}  // NOLINT(*-explicit-*)
    ~Owned() {
        if (thing != nullptr) release_(thing);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    Thing* thing = nullptr;

private:
    void (*release_)(Thing*);
};

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Texts as the library takes them.
struct KeysAndValues {
    explicit KeysAndValues(const Settings& settings) {
        for (const auto& [key, value] : settings) {
            keys.push_back(key.c_str());
            values.push_back(value.c_str());
        }
    }
    std::vector<const char*> keys;
    std::vector<const char*> values;
};

Settings cuda_settings(const SessionOptions& options) {
    Settings settings{{"device_id", std::to_string(options.device)},
                      {"arena_extend_strategy", "kSameAsRequested"},
                      {"cudnn_conv_algo_search", "HEURISTIC"},
                      {"do_copy_in_default_stream", "1"}};
    if (options.gpu_memory_bytes > 0) {
        settings.emplace_back("gpu_mem_limit", std::to_string(options.gpu_memory_bytes));
    }
    return settings;
}

Settings tensorrt_settings(const SessionOptions& options) {
    Settings settings{{"device_id", std::to_string(options.device)},
                      {"trt_fp16_enable", options.half_precision ? "1" : "0"}};
    if (options.gpu_memory_bytes > 0) {
        // A quarter for what it builds engines with; the rest is for weights and pictures.
        settings.emplace_back("trt_max_workspace_size",
                              std::to_string(options.gpu_memory_bytes / 4));
    }
    if (!options.engine_cache.empty()) {
        settings.emplace_back("trt_engine_cache_enable", "1");
        settings.emplace_back("trt_engine_cache_path", options.engine_cache);
    }
    return settings;
}

std::optional<Error> append_cuda(const Runtime& runtime, OrtSessionOptions* options,
                                 const SessionOptions& wanted) {
    const Calls& calls = runtime.calls();
    Owned<OrtCUDAProviderOptionsV2> provider(calls.ReleaseCUDAProviderOptions);
    if (auto failed = runtime.failure("CUDA", calls.CreateCUDAProviderOptions(&provider.thing)))
        return failed;
    const Settings settings = cuda_settings(wanted);
    const KeysAndValues texts(settings);
    if (auto failed = runtime.failure(
            "CUDA", calls.UpdateCUDAProviderOptions(provider.thing, texts.keys.data(),
                                                    texts.values.data(), settings.size())))
        return failed;
    return runtime.failure(
        "CUDA", calls.SessionOptionsAppendExecutionProvider_CUDA_V2(options, provider.thing));
}

std::optional<Error> append_tensorrt(const Runtime& runtime, OrtSessionOptions* options,
                                     const SessionOptions& wanted) {
    const Calls& calls = runtime.calls();
    Owned<OrtTensorRTProviderOptionsV2> provider(calls.ReleaseTensorRTProviderOptions);
    if (auto failed =
            runtime.failure("TensorRT", calls.CreateTensorRTProviderOptions(&provider.thing)))
        return failed;
    const Settings settings = tensorrt_settings(wanted);
    const KeysAndValues texts(settings);
    if (auto failed = runtime.failure(
            "TensorRT", calls.UpdateTensorRTProviderOptions(provider.thing, texts.keys.data(),
                                                            texts.values.data(), settings.size())))
        return failed;
    if (auto failed = runtime.failure(
            "TensorRT",
            calls.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, provider.thing)))
        return failed;
    return append_cuda(runtime, options, wanted);  // for what TensorRT does not know
}

std::optional<Error> append(const Runtime& runtime, OrtSessionOptions* options,
                            const SessionOptions& wanted, Provider provider) {
    switch (provider) {
        case Provider::kTensorRt:
            return append_tensorrt(runtime, options, wanted);
        case Provider::kCuda:
            return append_cuda(runtime, options, wanted);
        case Provider::kCpu:
            return std::nullopt;
    }
    return std::nullopt;
}

/// For a GPU threads only wait, and for the CPU they compute. There they look for the next part of a run without sleep, and
/// sleep between runs: waiting awake all the time would burn the CPU limit of a container.
std::optional<Error> set_threads(const Runtime& runtime, OrtSessionOptions* options,
                                 const SessionOptions& wanted, Provider provider) {
    const Calls& calls = runtime.calls();
    const int threads = provider == Provider::kCpu ? wanted.threads : 1;
    if (auto failed = runtime.failure("threads", calls.SetIntraOpNumThreads(options, threads)))
        return failed;
    if (auto failed = runtime.failure("threads", calls.SetInterOpNumThreads(options, 1)))
        return failed;
    if (auto failed = runtime.failure("memory pattern", calls.DisableMemPattern(options)))
        return failed;
    const bool computes = provider == Provider::kCpu;
    const std::array<std::pair<const char*, const char*>, 3> spinning{
        {{"session.intra_op.allow_spinning", computes ? "1" : "0"},
         {"session.inter_op.allow_spinning", "0"},
         {"session.force_spinning_stop", "1"}}};
    for (const auto& [key, value] : spinning) {
        if (auto failed = runtime.failure(key, calls.AddSessionConfigEntry(options, key, value)))
            return failed;
    }
    return std::nullopt;
}

}  // namespace

std::string_view name_of(Provider provider) {
    switch (provider) {
        case Provider::kCpu:
            return "cpu";
        case Provider::kCuda:
            return "cuda";
        case Provider::kTensorRt:
            return "tensorrt";
    }
    return "";
}

Result<std::unique_ptr<Session>> Session::make(std::shared_ptr<const Runtime> runtime,
                                               std::string_view model,
                                               const SessionOptions& options) {
    const Calls& calls = runtime->calls();
    std::unique_ptr<Session> session(new Session(std::move(runtime)));
    const Runtime& library = *session->runtime_;
    if (auto failed = library.failure(
            "memory",
            calls.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &session->memory_)))
        return *std::move(failed);
    for (const Provider provider : options.providers) {
        Owned<OrtSessionOptions> settings(calls.ReleaseSessionOptions);
        if (auto failed =
                library.failure("session options", calls.CreateSessionOptions(&settings.thing)))
            return *std::move(failed);
        auto failed = set_threads(library, settings.thing, options, provider);
        if (!failed) failed = append(library, settings.thing, options, provider);
        if (!failed) {
            failed = library.failure(
                name_of(provider),
                calls.CreateSessionFromArray(library.environment(), model.data(), model.size(),
                                             settings.thing, &session->session_));
        }
        if (!failed) {
            session->provider_ = provider;
            if (auto read = session->read_ports(); !read) return std::move(read).error();
            return session;
        }
        // A model that cannot be read is no better elsewhere, and where there is no memory the CPU is no answer.
        if (failed->code == ErrorCode::kInvalidInput || failed->code == ErrorCode::kConflict) {
            return std::move(*failed).during("model");
        }
        session->refused_.push_back(std::move(failed->message));
    }
    return Error{ErrorCode::kUnavailable,
                 "no provider can run the model: " + join(session->refused_, "; ")};
}

Session::~Session() {
    if (session_ != nullptr) runtime_->calls().ReleaseSession(session_);
    if (memory_ != nullptr) runtime_->calls().ReleaseMemoryInfo(memory_);
}

Result<Done> Session::read_ports() {
    const Calls& calls = runtime_->calls();
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    if (auto failed = runtime_->failure("inputs", calls.SessionGetInputCount(session_, &inputs)))
        return *std::move(failed);
    if (auto failed = runtime_->failure("outputs", calls.SessionGetOutputCount(session_, &outputs)))
        return *std::move(failed);
    for (std::size_t i = 0; i < inputs; ++i) {
        auto port = read_port(i, true);
        if (!port) return std::move(port).error();
        inputs_.push_back(*std::move(port));
    }
    for (std::size_t i = 0; i < outputs; ++i) {
        auto port = read_port(i, false);
        if (!port) return std::move(port).error();
        outputs_.push_back(*std::move(port));
    }
    return Done{};
}

Result<Port> Session::read_port(std::size_t index, bool input) const {
    const Calls& calls = runtime_->calls();
    OrtAllocator* allocator = nullptr;
    if (auto failed =
            runtime_->failure("allocator", calls.GetAllocatorWithDefaultOptions(&allocator)))
        return *std::move(failed);
    Port port;
    char* name = nullptr;
    const auto get_name = input ? calls.SessionGetInputName : calls.SessionGetOutputName;
    if (auto failed = runtime_->failure("name", get_name(session_, index, allocator, &name)))
        return *std::move(failed);
    port.name = name;
    (void)runtime_->failure("free", calls.AllocatorFree(allocator, name));
    Owned<OrtTypeInfo> type(calls.ReleaseTypeInfo);
    const auto get_type = input ? calls.SessionGetInputTypeInfo : calls.SessionGetOutputTypeInfo;
    if (auto failed = runtime_->failure(port.name, get_type(session_, index, &type.thing)))
        return *std::move(failed);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    if (auto failed =
            runtime_->failure(port.name, calls.CastTypeInfoToTensorInfo(type.thing, &tensor)))
        return *std::move(failed);
    if (tensor == nullptr) {
        return Error{ErrorCode::kUnsupported, "model: '" + port.name + "' is not a tensor"};
    }
    std::size_t axes = 0;
    if (auto failed = runtime_->failure(port.name, calls.GetTensorElementType(tensor, &port.type)))
        return *std::move(failed);
    if (auto failed = runtime_->failure(port.name, calls.GetDimensionsCount(tensor, &axes)))
        return *std::move(failed);
    port.shape.resize(axes);
    if (auto failed =
            runtime_->failure(port.name, calls.GetDimensions(tensor, port.shape.data(), axes)))
        return *std::move(failed);
    return port;
}

std::string Session::metadata(const std::string& key) const {
    const Calls& calls = runtime_->calls();
    Owned<OrtModelMetadata> metadata(calls.ReleaseModelMetadata);
    OrtAllocator* allocator = nullptr;
    char* value = nullptr;
    if (runtime_->failure("metadata", calls.SessionGetModelMetadata(session_, &metadata.thing)))
        return {};
    if (runtime_->failure("allocator", calls.GetAllocatorWithDefaultOptions(&allocator))) return {};
    if (runtime_->failure("metadata", calls.ModelMetadataLookupCustomMetadataMap(
                                          metadata.thing, allocator, key.c_str(), &value)) ||
        value == nullptr) {
        return {};
    }
    std::string text = value;
    (void)runtime_->failure("free", calls.AllocatorFree(allocator, value));
    return text;
}

Result<Output> Session::run(std::span<const float> numbers, std::span<const std::int64_t> shape) {
    const Calls& calls = runtime_->calls();
    const Port& port = inputs_.front();
    const bool half = port.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    std::vector<std::uint16_t> halves;
    if (half) halves = to_half(numbers);
    // The library reads what it is given, though its prototype does not say so.
    void* const data =
        half ? static_cast<void*>(halves.data()) : const_cast<float*>(numbers.data());
    const std::size_t bytes = numbers.size() * (half ? sizeof(std::uint16_t) : sizeof(float));
    Owned<OrtValue> input(calls.ReleaseValue);
    if (auto failed = runtime_->failure(
            "input", calls.CreateTensorWithDataAsOrtValue(memory_, data, bytes, shape.data(),
                                                          shape.size(), port.type, &input.thing)))
        return *std::move(failed);
    const std::array<const char*, 1> input_names{port.name.c_str()};
    const std::array<const char*, 1> output_names{outputs_.front().name.c_str()};
    const std::array<const OrtValue*, 1> inputs{input.thing};
    Owned<OrtValue> output(calls.ReleaseValue);
    if (auto failed =
            runtime_->failure("run", calls.Run(session_, nullptr, input_names.data(), inputs.data(),
                                               1, output_names.data(), 1, &output.thing)))
        return *std::move(failed);
    Owned<OrtTensorTypeAndShapeInfo> info(calls.ReleaseTensorTypeAndShapeInfo);
    Output read;
    std::size_t axes = 0;
    std::size_t count = 0;
    int type = 0;
    void* result = nullptr;
    if (auto failed =
            runtime_->failure("output", calls.GetTensorTypeAndShape(output.thing, &info.thing)))
        return *std::move(failed);
    if (auto failed = runtime_->failure("output", calls.GetDimensionsCount(info.thing, &axes)))
        return *std::move(failed);
    read.shape.resize(axes);
    if (auto failed =
            runtime_->failure("output", calls.GetDimensions(info.thing, read.shape.data(), axes)))
        return *std::move(failed);
    if (auto failed =
            runtime_->failure("output", calls.GetTensorShapeElementCount(info.thing, &count)))
        return *std::move(failed);
    if (auto failed = runtime_->failure("output", calls.GetTensorElementType(info.thing, &type)))
        return *std::move(failed);
    if (auto failed =
            runtime_->failure("output", calls.GetTensorMutableData(output.thing, &result)))
        return *std::move(failed);
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
        const auto* const first = static_cast<const float*>(result);
        read.numbers.assign(first, first + count);
    } else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) {
        read.numbers = from_half({static_cast<const std::uint16_t*>(result), count});
    } else {
        return Error{ErrorCode::kUnsupported, "model: output '" + outputs_.front().name +
                                                  "' has elements of type " + std::to_string(type) +
                                                  "; expected float or float16"};
    }
    return read;
}

}  // namespace aliquot::onnx
