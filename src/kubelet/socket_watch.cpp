// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

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

std::optional<os::FileStatus::Identity> socket_identity(const os::Root& root,
                                                        const std::string& path) {
    struct statx found {};
    if (::statx(AT_FDCWD, root.resolve(path).c_str(), 0,
                STATX_TYPE | STATX_INO | STATX_CTIME | STATX_BTIME, &found) != 0 ||
        !S_ISSOCK(found.stx_mode)) {
        return std::nullopt;
    }
    constexpr std::int64_t kNs = 1'000'000'000;
    const auto& time = (found.stx_mask & STATX_BTIME) != 0 ? found.stx_btime : found.stx_ctime;
    return os::FileStatus::Identity{
        (std::uint64_t{found.stx_dev_major} << 32U) | found.stx_dev_minor, found.stx_ino,
        time.tv_sec * kNs + time.tv_nsec};
}

}  // namespace aliquot::kubelet
