// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/root.h"

namespace aliquot::kubelet {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

DirectoryWatch::DirectoryWatch(std::filesystem::path directory)
    : directory_(std::move(directory)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    ensure();
}

void DirectoryWatch::ensure() {
    if (!inotify_) return;
    struct stat found {};
    const bool there = ::stat(directory_.c_str(), &found) == 0;
    if (there && watch_ >= 0 && found.st_dev == device_ && found.st_ino == inode_) return;
    if (watch_ >= 0) ::inotify_rm_watch(inotify_.get(), watch_);  // fails when the kernel has
    watch_ = -1;
    if (!there) return;
    watch_ = ::inotify_add_watch(inotify_.get(), directory_.c_str(), kEvents);
    device_ = found.st_dev;
    inode_ = found.st_ino;
}

void DirectoryWatch::drain() {
    alignas(inotify_event) std::array<char, 4096> events{};
    ssize_t length = 0;
    do {
        length = ::read(inotify_.get(), events.data(), events.size());
        for (ssize_t at = 0; at < length;) {
            const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
            // A new directory can get the old one's inode number; the ended watch tells them apart.
            if (event->wd == watch_ && (event->mask & (IN_IGNORED | IN_MOVE_SELF)) != 0)
                device_ = inode_ = 0;
            at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        }
    } while (length > 0);
}

Result<PinnedSocket> PinnedSocket::at(const std::filesystem::path& path) {
    Descriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!file) return os::error_from_errno(errno, path.native());
    struct stat found {};
    if (::fstat(file.get(), &found) != 0) return os::error_from_errno(errno, path.native());
    if (!S_ISSOCK(found.st_mode))
        return Error{ErrorCode::kNotFound, path.native() + ": is not a socket"};
    return PinnedSocket(std::move(file), found.st_dev, found.st_ino);
}

bool PinnedSocket::still_at(const std::filesystem::path& path) const {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

}  // namespace aliquot::kubelet
