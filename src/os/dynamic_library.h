// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::os {

/// A library opened at run time. Closed with the object; symbols must not be used after that.
class DynamicLibrary {
public:
    /// Opens the first of `candidates` that loads. A candidate with a slash is a file, one without
    /// is searched for as the loader does (LD_LIBRARY_PATH, ld.so.cache).
    /// errors   kNotFound: none exists; kUnavailable: one exists and does not load (the message has
    ///          the loader's words)
    static Result<DynamicLibrary> open(const std::vector<std::string>& candidates);

    DynamicLibrary(DynamicLibrary&& other) noexcept;
    DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
    DynamicLibrary(const DynamicLibrary&) = delete;
    DynamicLibrary& operator=(const DynamicLibrary&) = delete;
    ~DynamicLibrary();

    /// nullptr when the library has no such symbol.
    [[nodiscard]] void* symbol(const char* name) const;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    DynamicLibrary(void* handle, std::string path);
    void* handle_ = nullptr;
    std::string path_;  // the candidate that was opened
};

}  // namespace aliquot::os
