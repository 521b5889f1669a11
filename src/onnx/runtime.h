// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/onnxruntime.h"
#include "base/result.h"
#include "os/dynamic_library.h"

/// Models, carried out by ONNX Runtime, which is loaded when the program runs: it is not needed to build, and the one that
/// is there decides what a model can run on.
namespace aliquot::onnx {

/// The functions of a library's table.
struct Calls {
#define ALIQUOT_ORT_MEMBER(place, name, result, parameters) Ort_##name##_t name = nullptr;
    ORT_ENTRIES(ALIQUOT_ORT_MEMBER)
#undef ALIQUOT_ORT_MEMBER
};

/// A loaded library; never unloaded, since its threads may outlive its last session. Thread-safe.
class Runtime {
public:
    /// candidates   files or names, as os::DynamicLibrary::open() takes them
    /// errors       kNotFound: there is none; kUnavailable: it does not load; kUnsupported: no ONNX Runtime, or older
    ///              than 1.17
    static Result<std::shared_ptr<const Runtime>> load(const std::vector<std::string>& candidates);

    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    [[nodiscard]] const Calls& calls() const { return calls_; }
    [[nodiscard]] OrtEnv* environment() const { return environment_; }
    [[nodiscard]] const std::string& version() const { return version_; }  // "1.20.1"
    [[nodiscard]] const std::string& path() const { return path_; }
    /// What was compiled in: "CUDAExecutionProvider". It says nothing of what works here.
    [[nodiscard]] std::vector<std::string> providers() const;

    /// Nothing: the call went well. Releases the status.
    [[nodiscard]] std::optional<Error> failure(std::string_view call, OrtStatus* status) const;

private:
    Runtime() = default;

    std::string path_;
    std::string version_;
    Calls calls_;
    OrtEnv* environment_ = nullptr;
};

/// Where a library is looked for: what was asked for, else the usual names.
std::vector<std::string> library_candidates(std::string_view asked);

/// Whether an error's words say that there was no memory: the library has no code for it.
bool is_out_of_memory(std::string_view message);

}  // namespace aliquot::onnx
