// SPDX-License-Identifier: Apache-2.0
#include "os/dynamic_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::os {
namespace {

/// Whether the loader found a library that it did not want. The loader alone knows where it looks
/// for a name; of one that is nowhere it says "NAME: cannot open shared object file: No such file".
bool exists(const std::string& candidate, const std::string& loader_words) {
    std::error_code ignored;
    if (candidate.contains('/')) return std::filesystem::exists(candidate, ignored);
    return !loader_words.starts_with(candidate + ": cannot open");
}

/// "libx.so.1 in /lib, /usr/lib and 3 other places"; one candidate as it is.
std::string tried(const std::vector<std::string>& candidates) {
    namespace fs = std::filesystem;
    constexpr std::size_t kShown = 2;
    const bool named =
        candidates.size() > kShown && std::ranges::all_of(candidates, [&](const std::string& one) {
            return fs::path(one).filename() == fs::path(candidates[0]).filename();
        });
    if (!named) return join(candidates);
    return fs::path(candidates[0]).filename().native() + " in " +
           fs::path(candidates[0]).parent_path().native() + ", " +
           fs::path(candidates[1]).parent_path().native() + " and " +
           counted(candidates.size() - kShown, "other place");
}

}  // namespace

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
        const char* const said =
            ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
        const std::string words = said != nullptr ? said : candidate + ": does not load";
        if (refused.empty() && exists(candidate, words)) refused = words;
    }
    if (!refused.empty()) return Error{ErrorCode::kUnavailable, refused};
    return Error{ErrorCode::kNotFound, "no such library: " + tried(candidates)};
}

void* DynamicLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace aliquot::os
