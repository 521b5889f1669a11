// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::kubelet {

/// Says when something happens in a directory. On the directory, since a watch on a socket would
/// follow an inode that kubelet removes; and only as a hint, since events can be lost (overflow,
/// no inotify instance left, a bind mount that was replaced): whoever uses it looks with stat() as
/// well, once a second. Not thread-safe.
class DirectoryWatch {
public:
    explicit DirectoryWatch(std::filesystem::path directory);

    /// Watches the directory, again after it was made anew. Cheap when nothing changed.
    void ensure();

    /// Readable when something happened; -1 when this machine has no inotify to give.
    [[nodiscard]] int descriptor() const { return inotify_.get(); }
    void drain();

private:
    std::filesystem::path directory_;
    Descriptor inotify_;
    int watch_ = -1;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

/// One socket file, held (O_PATH) so that the kernel gives its inode number to no other: it tells
/// whether a path still leads to it, whatever happens to its mode, label or links. Not thread-safe.
class PinnedSocket {
public:
    /// errors   kNotFound: nothing there, or no socket; kUnavailable: no descriptor left
    static Result<PinnedSocket> at(const std::filesystem::path& path);

    [[nodiscard]] bool still_at(const std::filesystem::path& path) const;

private:
    PinnedSocket(Descriptor file, std::uint64_t device, std::uint64_t inode)
        : file_(std::move(file)), device_(device), inode_(inode) {}

    Descriptor file_;
    std::uint64_t device_;
    std::uint64_t inode_;
};

}  // namespace aliquot::kubelet
