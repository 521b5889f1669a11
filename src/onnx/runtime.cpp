// SPDX-License-Identifier: Apache-2.0
#include "onnx/runtime.h"

#include "base/log.h"
#include "base/text.h"

namespace aliquot::onnx {
namespace {

void take_log(void* /*param*/, int severity, const char* category, const char* /*logid*/,
              const char* /*location*/, const char* message) {
    const auto write = severity >= ORT_LOGGING_LEVEL_ERROR ? log::error : log::warning;
    write("onnxruntime", {{"category", category == nullptr ? "" : category},
                          {"message", message == nullptr ? "" : message}});
}

ErrorCode code_of(int code) {
    switch (code) {
        case ORT_INVALID_ARGUMENT:
        case ORT_INVALID_PROTOBUF:
        case ORT_INVALID_GRAPH:
        case ORT_NO_MODEL:
            return ErrorCode::kInvalidInput;
        case ORT_NOT_IMPLEMENTED:
            return ErrorCode::kUnsupported;
        case ORT_NO_SUCHFILE:
            return ErrorCode::kNotFound;
        default:
            return ErrorCode::kUnavailable;
    }
}

}  // namespace

std::vector<std::string> library_candidates(std::string_view asked) {
    if (!asked.empty()) return {std::string(asked)};
    return {"libonnxruntime.so.1", "libonnxruntime.so"};
}

bool is_out_of_memory(std::string_view message) {
    for (const std::string_view words :
         {"Failed to allocate memory", "out of memory", "CUDA_ERROR_OUT_OF_MEMORY",
          "cudaErrorMemoryAllocation", "bad_alloc", "bad allocation", "CUBLAS_STATUS_ALLOC_FAILED",
          "CUDNN_STATUS_ALLOC_FAILED"}) {
        if (contains_folded(message, words)) return true;
    }
    return false;
}

std::optional<Error> Runtime::failure(std::string_view call, OrtStatus* status) const {
    if (status == nullptr) return std::nullopt;
    const char* const words = calls_.GetErrorMessage(status);
    std::string message = words == nullptr ? "no reason given" : words;
    for (char& c : message) {
        if (c == '\n' || c == '\r') c = ' ';
    }
    // Out of memory is the caller's to answer: a smaller batch.
    const ErrorCode code =
        is_out_of_memory(message) ? ErrorCode::kConflict : code_of(calls_.GetErrorCode(status));
    calls_.ReleaseStatus(status);
    return Error{code, std::string(call) + ": " + message};
}

Result<std::shared_ptr<const Runtime>> Runtime::load(const std::vector<std::string>& candidates) {
    auto opened = os::DynamicLibrary::open(candidates);
    if (!opened) return std::move(opened).error().during("ONNX Runtime");
    auto* const base = reinterpret_cast<decltype(&OrtGetApiBase)>(opened->symbol("OrtGetApiBase"));
    const OrtApiBase* const entry = base == nullptr ? nullptr : base();
    if (entry == nullptr) {
        return Error{ErrorCode::kUnsupported,
                     opened->path() + ": no ONNX Runtime (it has no OrtGetApiBase)"};
    }
    const char* const version = entry->GetVersionString();
    const void* const* const table = entry->GetApi(ORT_API_WANTED);
    if (table == nullptr) {
        return Error{ErrorCode::kUnsupported, opened->path() + ": ONNX Runtime " +
                                                  std::string(version == nullptr ? "?" : version) +
                                                  " is too old; expected 1." +
                                                  std::to_string(ORT_API_WANTED) + " or newer"};
    }
    const std::shared_ptr<Runtime> runtime(new Runtime);
    runtime->path_ = opened->path();
    runtime->version_ = version == nullptr ? "?" : version;
#define ALIQUOT_ORT_FIND(place, name, result, parameters) \
    runtime->calls_.name = reinterpret_cast<Ort_##name##_t>(const_cast<void*>(table[place]));
    ORT_ENTRIES(ALIQUOT_ORT_FIND)
#undef ALIQUOT_ORT_FIND
    // It stays loaded, also at the program's end: its threads run on.
    static auto& kept = *new std::vector<os::DynamicLibrary>;
    kept.push_back(*std::move(opened));
    auto failed = runtime->failure("CreateEnv", runtime->calls_.CreateEnvWithCustomLogger(
                                                    take_log, nullptr, ORT_LOGGING_LEVEL_ERROR,
                                                    "aliquot", &runtime->environment_));
    if (failed) return *std::move(failed);
    return std::shared_ptr<const Runtime>(runtime);
}

Runtime::~Runtime() {
    if (environment_ != nullptr) calls_.ReleaseEnv(environment_);
}

std::vector<std::string> Runtime::providers() const {
    char** names = nullptr;
    int count = 0;
    if (failure("GetAvailableProviders", calls_.GetAvailableProviders(&names, &count))) return {};
    std::vector<std::string> all(names, names + count);
    (void)failure("ReleaseAvailableProviders", calls_.ReleaseAvailableProviders(names, count));
    return all;
}

}  // namespace aliquot::onnx
