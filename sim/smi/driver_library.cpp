// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/driver_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sim/node/node.h"

namespace aliquot::sim::smi {
namespace {

constexpr int kDirectoriesUp = 8;

std::vector<std::filesystem::path> directories_above(const std::string& program) {
    std::vector<std::filesystem::path> result;
    std::error_code problem;
    auto directory = std::filesystem::absolute(program, problem).lexically_normal().parent_path();
    for (int i = 0; i < kDirectoriesUp && directory.has_relative_path(); ++i) {
        result.push_back(directory);
        directory = directory.parent_path();
    }
    return result;
}

}  // namespace

std::string node_directory(const std::string& program) {
    const char* const named = std::getenv("ALIQUOT_SIM_STATE");  // NOLINT(concurrency-mt-unsafe)
    if (named != nullptr && *named != '\0') return named;
    for (const auto& directory : directories_above(program)) {
        std::error_code problem;
        if (std::filesystem::exists(directory / kStateFile, problem)) return directory.native();
    }
    return {};
}

std::unique_ptr<DriverLibrary> DriverLibrary::open(const std::string& program) {
    constexpr const char* kName = "libnvidia-ml.so.1";
    std::vector<std::string> candidates;
    const std::filesystem::path node(node_directory(program));
    // On a machine with a real driver a simulated node still shows itself.
    if (!node.empty()) candidates.push_back((node / "lib" / kName).native());
    candidates.emplace_back(kName);
    for (const auto& directory : directories_above(program)) {
        candidates.push_back((directory / "lib" / kName).native());
    }
    auto file = os::DynamicLibrary::open(candidates);
    if (!file) return nullptr;
    // A driver library is not made to be unloaded: it stays until the process ends.
    ::dlopen(file->path().c_str(), RTLD_NOW | RTLD_NODELETE);
    return std::unique_ptr<DriverLibrary>(new DriverLibrary(*std::move(file)));
}

DriverLibrary::~DriverLibrary() {
    if (initialised_) SMI_CALL(*this, nvmlShutdown);
}

nvmlReturn_t DriverLibrary::init() {
    const nvmlReturn_t code = SMI_CALL(*this, nvmlInit_v2);
    initialised_ = code == NVML_SUCCESS;
    return code;
}

std::string DriverLibrary::error_text(nvmlReturn_t code) const {
    const auto function =
        reinterpret_cast<decltype(&nvmlErrorString)>(file_.symbol("nvmlErrorString"));
    const char* const words = function == nullptr ? nullptr : function(code);
    return words != nullptr ? words : "NVML error " + std::to_string(code);
}

}  // namespace aliquot::sim::smi
