// SPDX-License-Identifier: Apache-2.0
#include "sim/node/state_place.h"

#include <dlfcn.h>

#include <cstdlib>
#include <system_error>

#include "sim/node/node.h"

namespace aliquot::sim {
namespace {

constexpr int kDirectoriesUp = 8;  // from the library to the node's directory

/// By the name it was loaded under.
std::filesystem::path library_file(const void* code) {
    Dl_info info{};
    if (::dladdr(code, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code problem;
    const auto path = std::filesystem::absolute(info.dli_fname, problem);
    return problem ? std::filesystem::path() : path.lexically_normal();
}

}  // namespace

std::filesystem::path state_file_of_library(const void* code) {
    const char* const named = std::getenv("ALIQUOT_SIM_STATE");  // NOLINT(concurrency-mt-unsafe)
    if (named != nullptr && *named != '\0') return std::filesystem::path(named) / kStateFile;
    auto directory = library_file(code).parent_path();
    for (int i = 0; i < kDirectoriesUp && directory.has_relative_path(); ++i) {
        std::error_code problem;
        if (std::filesystem::exists(directory / kStateFile, problem)) return directory / kStateFile;
        directory = directory.parent_path();
    }
    return {};
}

}  // namespace aliquot::sim
