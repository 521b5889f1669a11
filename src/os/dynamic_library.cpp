// SPDX-License-Identifier: Apache-2.0
#include "os/dynamic_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <utility>

namespace aliquot::os {

DynamicLibrary::DynamicLibrary(void* handle, std::string path)
    : handle_(handle), path_(std::move(path)) {}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
}

DynamicLibrary::~DynamicLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

Result<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& candidates) {
    std::string refused;  // why the first candidate that exists did not load
    for (const std::string& candidate : candidates) {
        void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle != nullptr) return DynamicLibrary(handle, candidate);
        const char* words =
            ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
        const bool is_file = candidate.contains('/');
        std::error_code ignored;
        if (refused.empty() && is_file && std::filesystem::exists(candidate, ignored)) {
            refused = words != nullptr ? words : candidate + ": does not load";
        }
    }
    if (!refused.empty()) return Error{ErrorCode::kUnavailable, refused};
    std::string tried;
    for (const std::string& candidate : candidates)
        tried += (tried.empty() ? "" : ", ") + candidate;
    return Error{ErrorCode::kNotFound, "no such library: " + tried};
}

void* DynamicLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace aliquot::os
