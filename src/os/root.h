// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/errno_error.h"

namespace aliquot::os {

/// What stat() tells, as far as we ask. `identity` changes when a path is removed and made anew.
struct FileStatus {
    enum class Kind : std::uint8_t {
        kRegular,
        kDirectory,
        kSocket,
        kCharacterDevice,
        kSymlink,
        kOther
    };
    Kind kind = Kind::kOther;
    std::uint64_t size_bytes = 0;
    std::uint32_t mode = 0;     // permission bits
    unsigned device_major = 0;  // of a device node
    unsigned device_minor = 0;
    struct Identity {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t changed_ns = 0;  // of content, mode, owner or links
        friend bool operator==(const Identity&, const Identity&) = default;
    } identity;
};

/// A file tree that stands for a host: "/" or the directory given by --root. Every host path that
/// this project touches goes through one, so a test or a second instance brings its own tree.
///
/// Paths given to a call are host paths ("/var/lib/kubelet/device-plugins"); a ".." that would
/// leave the tree is kInvalidInput. Symbolic links inside are followed as the kernel does.
/// Immutable and thread-safe.
class Root {
public:
    explicit Root(std::filesystem::path base = "/");

    /// Where `path` lies for a system call: prefix + path.
    [[nodiscard]] std::filesystem::path resolve(std::string_view path) const;
    [[nodiscard]] const std::filesystem::path& base() const { return base_; }

    /// Does not wait: not for the writer of a pipe, nor for who holds a lease on the file.
    /// errors   kNotFound; kPermission; kInvalidInput: larger than `limit_bytes`, or a pipe
    [[nodiscard]] Result<std::string> read(std::string_view path,
                                           std::size_t limit_bytes = 1 << 20) const;

    /// replace_file() (os/replace_file.h) with missing directories made (0755).
    /// errors   kPermission, kUnavailable (no space, read-only); nothing is left behind
    [[nodiscard]] Result<Done> write_atomically(std::string_view path, std::string_view content,
                                                std::uint32_t mode = 0644) const;

    /// Removes a file; that it is not there is success.
    [[nodiscard]] Result<Done> remove(std::string_view path) const;
    [[nodiscard]] Result<Done> make_directories(std::string_view path,
                                                std::uint32_t mode = 0755) const;

    /// lstat; kNotFound when there is nothing.
    [[nodiscard]] Result<FileStatus> status(std::string_view path, bool follow = true) const;
    [[nodiscard]] bool exists(std::string_view path) const;

    /// Names (not paths) in a directory, sorted; at most `limit` are read.
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view directory,
                                                        std::size_t limit = 10000) const;

private:
    std::filesystem::path base_;
};

}  // namespace aliquot::os
