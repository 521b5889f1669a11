// SPDX-License-Identifier: Apache-2.0
// libonnxruntime.so.1 of a simulated node: the entries that src/onnx calls. It reads models and does not compute them: a
// picture's output is a weight of the model, which on the CUDA provider takes memory and time of the simulated GPU.
//   metadata of a model             what it says
//   simulated.weights_mib           GPU memory of the model (the size of its weights)
//   simulated.sample_mib            GPU memory of each picture of a batch (32)
//   simulated.sample_us             GPU time of each picture (2000)
//   simulated.batch_us              and of each batch (1000)
//   simulated.batch_most            a larger batch is out of memory, also on the CPU
//   simulated.hangs_while           a file: while it is there a run does not return, as on a GPU that hangs
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "abi/onnxruntime.h"
#include "base/number.h"
#include "sim/onnxruntime/gpu_arena.h"
#include "sim/onnxruntime/model.h"
#include "sim/onnxruntime/types.h"

using aliquot::Error;
using aliquot::ErrorCode;
using aliquot::parse_number;
using aliquot::sim::GpuArena;
using aliquot::sim::OnnxModel;
using aliquot::sim::OnnxPort;

namespace {

constexpr std::uint64_t kMib = 1U << 20U;
constexpr std::uint64_t kMicrosecond = 1000;

OrtStatus* failed(int code, std::string message) { return new OrtStatus{code, std::move(message)}; }
OrtStatus* failed(const Error& error) {
    const bool model = error.code == ErrorCode::kInvalidInput;
    return failed(model ? ORT_INVALID_PROTOBUF : ORT_RUNTIME_EXCEPTION, error.message);
}

std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
    std::uint64_t count = 1;
    for (const std::int64_t axis : shape) count *= static_cast<std::uint64_t>(axis);
    return count;
}

int get_error_code(const OrtStatus* status) { return status->code; }
const char* get_error_message(const OrtStatus* status) { return status->message.c_str(); }
void release_status(OrtStatus* status) { delete status; }

OrtStatus* create_env(OrtLoggingFunction log, void* /*param*/, int /*severity*/, const char* /*id*/,
                      OrtEnv** out) {
    *out = new OrtEnv{log};
    return nullptr;
}
OrtStatus* create_session_options(OrtSessionOptions** out) {
    *out = new OrtSessionOptions;
    return nullptr;
}
OrtStatus* take_options(OrtSessionOptions* /*options*/) { return nullptr; }
OrtStatus* take_threads(OrtSessionOptions* /*options*/, int /*threads*/) { return nullptr; }
OrtStatus* take_entry(OrtSessionOptions* /*options*/, const char* /*key*/, const char* /*value*/) {
    return nullptr;
}

OrtStatus* create_cuda(OrtCUDAProviderOptionsV2** out) {
    *out = new OrtCUDAProviderOptionsV2;
    return nullptr;
}
/// A key that the library does not know is an error, as with the real one.
OrtStatus* update_cuda(OrtCUDAProviderOptionsV2* options, const char* const* keys,
                       const char* const* values, std::size_t count) {
    static constexpr auto kKnown = std::to_array<std::string_view>(
        {"arena_extend_strategy", "cudnn_conv_algo_search", "do_copy_in_default_stream",
         "enable_cuda_graph", "cudnn_conv_use_max_workspace"});
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view key = keys[i];
        const auto number = parse_number<std::uint64_t>(values[i]);
        if (key == "device_id" && number) {
            options->device = static_cast<unsigned>(*number);
        } else if (key == "gpu_mem_limit" && number) {
            options->limit_bytes = *number;
        } else if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
            return failed(ORT_INVALID_ARGUMENT,
                          "Unknown provider option: \"" + std::string(key) + "\".");
        }
    }
    return nullptr;
}
void release_cuda(OrtCUDAProviderOptionsV2* options) { delete options; }
OrtStatus* append_cuda(OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* gpu) {
    const auto found = aliquot::sim::CudaCalls::find();
    if (!found) return failed(ORT_FAIL, "Failed to load shared library: " + found.error().message);
    if (const auto result = found->init(0))
        return failed(ORT_FAIL, found->error("cuInit", result).message);
    options->cuda = true;
    options->gpu = *gpu;
    return nullptr;
}
OrtStatus* create_tensorrt(OrtTensorRTProviderOptionsV2** out) {
    *out = nullptr;
    return failed(
        ORT_FAIL,
        "Failed to load shared library: libonnxruntime_providers_tensorrt.so: not on this node");
}
OrtStatus* update_tensorrt(OrtTensorRTProviderOptionsV2* /*options*/, const char* const* /*keys*/,
                           const char* const* /*values*/, std::size_t /*count*/) {
    return failed(ORT_FAIL, "not here");
}
OrtStatus* append_tensorrt(OrtSessionOptions* /*options*/,
                           const OrtTensorRTProviderOptionsV2* /*provider*/) {
    return failed(ORT_FAIL, "TensorRT is not on this node");
}
void release_tensorrt(OrtTensorRTProviderOptionsV2* /*options*/) {}

OrtStatus* create_session(const OrtEnv* /*env*/, const void* bytes, std::size_t size,
                          const OrtSessionOptions* options, OrtSession** out) {
    auto model = aliquot::sim::read_model({static_cast<const char*>(bytes), size});
    if (!model) return failed(model.error());
    auto session = std::make_unique<OrtSession>();
    session->model = *std::move(model);
    if (options->cuda) {
        auto gpu = GpuArena::open(options->gpu.device, options->gpu.limit_bytes);
        if (!gpu) return failed(gpu.error());
        session->gpu = *std::move(gpu);
        const std::uint64_t own = session->model.weight_bytes;
        const std::uint64_t weights =
            session->model.number("simulated.weights_mib", (own + kMib - 1) / kMib) * kMib;
        if (auto grown = session->gpu->grow_to(weights); !grown) return failed(grown.error());
    }
    *out = session.release();
    return nullptr;
}
void release_session(OrtSession* session) { delete session; }

OrtStatus* input_count(const OrtSession* session, std::size_t* out) {
    *out = session->model.inputs.size();
    return nullptr;
}
OrtStatus* output_count(const OrtSession* session, std::size_t* out) {
    *out = session->model.outputs.size();
    return nullptr;
}
OrtStatus* type_of(const OnnxPort& port, OrtTypeInfo** out) {
    *out = new OrtTypeInfo{.tensor = {.type = port.type, .shape = port.shape}};
    return nullptr;
}
OrtStatus* input_type(const OrtSession* session, std::size_t index, OrtTypeInfo** out) {
    return type_of(session->model.inputs.at(index), out);
}
OrtStatus* output_type(const OrtSession* session, std::size_t index, OrtTypeInfo** out) {
    return type_of(session->model.outputs.at(index), out);
}
OrtStatus* input_name(const OrtSession* session, std::size_t index, OrtAllocator* /*allocator*/,
                      char** out) {
    *out = ::strdup(session->model.inputs.at(index).name.c_str());
    return nullptr;
}
OrtStatus* output_name(const OrtSession* session, std::size_t index, OrtAllocator* /*allocator*/,
                       char** out) {
    *out = ::strdup(session->model.outputs.at(index).name.c_str());
    return nullptr;
}
OrtStatus* free_memory(OrtAllocator* /*allocator*/, void* memory) {
    ::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): what strdup gave
    return nullptr;
}
OrtStatus* default_allocator(OrtAllocator** out) {
    static OrtAllocator one;
    *out = &one;
    return nullptr;
}
OrtStatus* create_memory_info(int /*allocator*/, int /*type*/, OrtMemoryInfo** out) {
    *out = new OrtMemoryInfo;
    return nullptr;
}
void release_memory_info(OrtMemoryInfo* info) { delete info; }

OrtStatus* create_tensor(const OrtMemoryInfo* /*memory*/, void* /*data*/, std::size_t bytes,
                         const std::int64_t* shape, std::size_t axes, int type, OrtValue** out) {
    auto value = std::make_unique<OrtValue>();
    value->info = {.type = type, .shape = {shape, shape + axes}};
    const std::uint64_t element = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 2 : 4;
    if (count_of(value->info.shape) * element != bytes) {
        return failed(ORT_INVALID_ARGUMENT,
                      "not enough space: expected " +
                          std::to_string(count_of(value->info.shape) * element) + ", got " +
                          std::to_string(bytes));
    }
    *out = value.release();
    return nullptr;
}
void release_value(OrtValue* value) { delete value; }
OrtStatus* tensor_data(OrtValue* value, void** out) {
    *out = value->numbers.data();
    return nullptr;
}
OrtStatus* cast_type(const OrtTypeInfo* info, const OrtTensorTypeAndShapeInfo** out) {
    *out = &info->tensor;
    return nullptr;
}
OrtStatus* element_type(const OrtTensorTypeAndShapeInfo* info, int* out) {
    *out = info->type;
    return nullptr;
}
OrtStatus* axis_count(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) {
    *out = info->shape.size();
    return nullptr;
}
OrtStatus* axes_of(const OrtTensorTypeAndShapeInfo* info, std::int64_t* out, std::size_t count) {
    std::copy_n(info->shape.begin(), std::min(count, info->shape.size()), out);
    return nullptr;
}
OrtStatus* element_count(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) {
    *out = count_of(info->shape);
    return nullptr;
}
OrtStatus* value_shape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) {
    *out = new OrtTensorTypeAndShapeInfo(value->info);
    return nullptr;
}
void release_type(OrtTypeInfo* info) { delete info; }
void release_shape(OrtTensorTypeAndShapeInfo* info) { delete info; }
void release_options(OrtSessionOptions* options) { delete options; }
void release_env(OrtEnv* env) { delete env; }

OrtStatus* metadata_of(const OrtSession* session, OrtModelMetadata** out) {
    *out = new OrtModelMetadata{session};
    return nullptr;
}
OrtStatus* look_up(const OrtModelMetadata* metadata, OrtAllocator* /*allocator*/, const char* key,
                   char** out) {
    const auto& all = metadata->session->model.metadata;
    const auto found = all.find(key);
    *out = found == all.end() ? nullptr : ::strdup(found->second.c_str());
    return nullptr;
}
void release_metadata(OrtModelMetadata* metadata) { delete metadata; }

OrtStatus* available(char*** out, int* count) {
    static std::string cuda = "CUDAExecutionProvider";
    static std::string cpu = "CPUExecutionProvider";
    static std::array<char*, 2> names{cuda.data(), cpu.data()};
    *out = names.data();
    *count = static_cast<int>(names.size());
    return nullptr;
}
OrtStatus* release_available(char** /*names*/, int /*count*/) { return nullptr; }

/// Only the batch may differ from what the model says.
OrtStatus* check_shape(const OnnxPort& port, const std::vector<std::int64_t>& shape) {
    bool fits = shape.size() == port.shape.size() && !shape.empty() && shape[0] > 0;
    for (std::size_t i = 0; fits && i < shape.size(); ++i)
        fits = port.shape[i] < 0 || port.shape[i] == shape[i];
    if (fits) return nullptr;
    return failed(ORT_INVALID_ARGUMENT, "Got invalid dimensions for input: " + port.name);
}

void hang(const OnnxModel& model) {
    const auto file = model.metadata.find("simulated.hangs_while");
    if (file == model.metadata.end()) return;
    std::error_code problem;
    while (std::filesystem::exists(file->second, problem)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

OrtStatus* run(OrtSession* session, const OrtRunOptions* /*options*/,
               const char* const* /*input_names*/, const OrtValue* const* inputs,
               std::size_t input_count, const char* const* /*output_names*/,
               std::size_t output_count, OrtValue** outputs) {
    if (input_count != 1 || output_count != 1)
        return failed(ORT_NOT_IMPLEMENTED, "one input, one output");
    const OnnxModel& model = session->model;
    const auto& shape = inputs[0]->info.shape;
    if (OrtStatus* const wrong = check_shape(model.inputs[0], shape)) return wrong;
    const auto batch = static_cast<std::uint64_t>(shape[0]);
    if (batch > model.number("simulated.batch_most", batch)) {
        return failed(ORT_RUNTIME_EXCEPTION,
                      "Failed to allocate memory for requested buffer of size 1");
    }
    hang(model);
    if (session->gpu != nullptr) {
        const std::uint64_t weights =
            model.number("simulated.weights_mib", (model.weight_bytes + kMib - 1) / kMib) * kMib;
        const std::uint64_t sample = model.number("simulated.sample_mib", 32) * kMib;
        const std::uint64_t us = model.number("simulated.batch_us", 1000) +
                                 batch * model.number("simulated.sample_us", 2000);
        if (auto grown = session->gpu->grow_to(weights + batch * sample); !grown)
            return failed(grown.error());
        if (auto done = session->gpu->compute(us * kMicrosecond); !done)
            return failed(done.error());
    }
    auto value = std::make_unique<OrtValue>();
    value->info = {.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, .shape = model.outputs[0].shape};
    if (!value->info.shape.empty()) value->info.shape[0] = shape[0];
    for (std::uint64_t i = 0; i < batch; ++i) {
        value->numbers.insert(value->numbers.end(), model.answer.begin(), model.answer.end());
    }
    outputs[0] = value.release();
    return nullptr;
}

OrtStatus* not_here() {
    return failed(ORT_NOT_IMPLEMENTED, "the simulated ONNX Runtime has no such entry");
}

template <class Function>
const void* pointer(Function* function) {
    return reinterpret_cast<const void*>(function);
}

const std::array<const void*, ORT_ENTRIES_KNOWN>& table() {
    static const auto made = [] {
        std::array<const void*, ORT_ENTRIES_KNOWN> all{};
        all.fill(pointer(not_here));
        // Of the type that the interface wants.
#define ALIQUOT_ORT_SET(name, function)        \
    {                                          \
        const Ort_##name##_t typed = function; \
        all.at(Ort_##name) = pointer(typed);   \
    }
        ALIQUOT_ORT_SET(GetErrorCode, get_error_code)
        ALIQUOT_ORT_SET(GetErrorMessage, get_error_message)
        ALIQUOT_ORT_SET(CreateEnvWithCustomLogger, create_env)
        ALIQUOT_ORT_SET(CreateSessionFromArray, create_session)
        ALIQUOT_ORT_SET(Run, run)
        ALIQUOT_ORT_SET(CreateSessionOptions, create_session_options)
        ALIQUOT_ORT_SET(DisableMemPattern, take_options)
        ALIQUOT_ORT_SET(SetIntraOpNumThreads, take_threads)
        ALIQUOT_ORT_SET(SetInterOpNumThreads, take_threads)
        ALIQUOT_ORT_SET(SessionGetInputCount, input_count)
        ALIQUOT_ORT_SET(SessionGetOutputCount, output_count)
        ALIQUOT_ORT_SET(SessionGetInputTypeInfo, input_type)
        ALIQUOT_ORT_SET(SessionGetOutputTypeInfo, output_type)
        ALIQUOT_ORT_SET(SessionGetInputName, input_name)
        ALIQUOT_ORT_SET(SessionGetOutputName, output_name)
        ALIQUOT_ORT_SET(CreateTensorWithDataAsOrtValue, create_tensor)
        ALIQUOT_ORT_SET(GetTensorMutableData, tensor_data)
        ALIQUOT_ORT_SET(CastTypeInfoToTensorInfo, cast_type)
        ALIQUOT_ORT_SET(GetTensorElementType, element_type)
        ALIQUOT_ORT_SET(GetDimensionsCount, axis_count)
        ALIQUOT_ORT_SET(GetDimensions, axes_of)
        ALIQUOT_ORT_SET(GetTensorShapeElementCount, element_count)
        ALIQUOT_ORT_SET(GetTensorTypeAndShape, value_shape)
        ALIQUOT_ORT_SET(CreateCpuMemoryInfo, create_memory_info)
        ALIQUOT_ORT_SET(AllocatorFree, free_memory)
        ALIQUOT_ORT_SET(GetAllocatorWithDefaultOptions, default_allocator)
        ALIQUOT_ORT_SET(ReleaseEnv, release_env)
        ALIQUOT_ORT_SET(ReleaseStatus, release_status)
        ALIQUOT_ORT_SET(ReleaseMemoryInfo, release_memory_info)
        ALIQUOT_ORT_SET(ReleaseSession, release_session)
        ALIQUOT_ORT_SET(ReleaseValue, release_value)
        ALIQUOT_ORT_SET(ReleaseTypeInfo, release_type)
        ALIQUOT_ORT_SET(ReleaseTensorTypeAndShapeInfo, release_shape)
        ALIQUOT_ORT_SET(ReleaseSessionOptions, release_options)
        ALIQUOT_ORT_SET(SessionGetModelMetadata, metadata_of)
        ALIQUOT_ORT_SET(ModelMetadataLookupCustomMetadataMap, look_up)
        ALIQUOT_ORT_SET(ReleaseModelMetadata, release_metadata)
        ALIQUOT_ORT_SET(GetAvailableProviders, available)
        ALIQUOT_ORT_SET(ReleaseAvailableProviders, release_available)
        ALIQUOT_ORT_SET(AddSessionConfigEntry, take_entry)
        ALIQUOT_ORT_SET(SessionOptionsAppendExecutionProvider_TensorRT_V2, append_tensorrt)
        ALIQUOT_ORT_SET(CreateTensorRTProviderOptions, create_tensorrt)
        ALIQUOT_ORT_SET(UpdateTensorRTProviderOptions, update_tensorrt)
        ALIQUOT_ORT_SET(ReleaseTensorRTProviderOptions, release_tensorrt)
        ALIQUOT_ORT_SET(SessionOptionsAppendExecutionProvider_CUDA_V2, append_cuda)
        ALIQUOT_ORT_SET(CreateCUDAProviderOptions, create_cuda)
        ALIQUOT_ORT_SET(UpdateCUDAProviderOptions, update_cuda)
        ALIQUOT_ORT_SET(ReleaseCUDAProviderOptions, release_cuda)
#undef ALIQUOT_ORT_SET
        return all;
    }();
    return made;
}

const void* const* get_api(std::uint32_t version) {
    constexpr std::uint32_t kNewest = 22;
    return version == 0 || version > kNewest ? nullptr : table().data();
}
const char* get_version() { return "1.22.0-simulated"; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase() {
    static const OrtApiBase base{get_api, get_version};
    return &base;
}
