// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kubelet/unix_socket.h"
#include "os/root.h"

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

/// What tells one kubelet.sock from the next, by when it was made: a new mode, label or hard link leaves
/// the old one (where the file system keeps no birth times, it does not). Empty when there is none.
std::optional<os::FileStatus::Identity> socket_identity(const os::Root& root,
                                                        const std::string& path);

}  // namespace aliquot::kubelet
