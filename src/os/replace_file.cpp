// SPDX-License-Identifier: Apache-2.0
#include "os/replace_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "base/descriptor.h"
#include "os/errno_error.h"

namespace aliquot::os {
namespace {

constexpr int kAttempts =
    100;  // another writer may take a new temporary file for one that was left

/// errno; 0: done.
int write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : EIO;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// ".NAME.tmp": a dot first, since readers of drop-in directories (CDI, NFD) skip such names.
std::string temporary_prefix(const std::filesystem::path& file) {
    return "." + file.filename().native() + ".tmp";
}

/// Removes what is locked by nobody: a writer holds the lock of its temporary file for as long as it lives. (Process
/// numbers tell nothing: every container has its 1.)
void remove_left(const std::filesystem::path& file) {
    const auto directory = file.parent_path();
    const std::string prefix = temporary_prefix(file);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(
        ::opendir(directory.empty() ? "." : directory.c_str()), &::closedir);
    if (!entries) return;
    while (const dirent* const entry = ::readdir(entries.get())) {
        const std::string_view name(static_cast<const char*>(entry->d_name));
        if (!name.starts_with(prefix) || name.size() == prefix.size() ||
            name.find_first_not_of("0123456789.", prefix.size()) != std::string_view::npos)
            continue;
        const Descriptor left(::openat(::dirfd(entries.get()), entry->d_name,
                                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (left && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0)
            ::unlinkat(::dirfd(entries.get()), entry->d_name, 0);
    }
}

/// A new file beside `file`, locked, and its path. The descriptor is none when errno says why.
Descriptor make_temporary(const std::filesystem::path& file, std::uint32_t mode,
                          std::filesystem::path& path) {
    static std::atomic<unsigned> counter{0};
    for (int i = 0; i < kAttempts; ++i) {
        path = file.parent_path() / (temporary_prefix(file) + std::to_string(::getpid()) + "." +
                                     std::to_string(counter.fetch_add(1)));
        Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (!fd && errno == EEXIST) continue;  // of a container that had our number
        if (!fd) return fd;
        // Where nothing can be locked nobody removes it either.
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
        struct stat made {};
        if (::fstat(fd.get(), &made) == 0 && made.st_nlink > 0) return fd;
    }
    errno = EEXIST;
    return {};
}

/// errno; 0: done. Some file systems cannot, which is no failure.
int sync_directory(const std::filesystem::path& directory) {
    const Descriptor fd(
        ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return errno;
    return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno;
}

Result<Done> write_into(const std::filesystem::path& path, std::string_view content) {
    const Descriptor fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
    if (!fd) return error_from_errno(errno, path.native());
    int problem = write_all(fd.get(), content);
    if (problem == 0 && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)
        problem = errno;  // pipes and devices cannot
    if (problem != 0) return error_from_errno(problem, path.native());
    return Done{};
}

bool is_about_the_directory(int problem) {
    return problem == EACCES || problem == EPERM || problem == EBUSY || problem == EXDEV;
}

/// errno of a step before the rename, or 0; then `synced` says whether the directory is on the disk.
int replace(const std::filesystem::path& file, std::string_view content,
            std::optional<std::uint32_t> mode, int& synced) {
    if (!mode) {
        struct stat present {};
        if (::stat(file.c_str(), &present) == 0) mode = present.st_mode & 07777U;
    }
    remove_left(file);
    constexpr std::uint32_t kAny = 0666;
    std::filesystem::path temporary;
    const Descriptor fd = make_temporary(file, mode.value_or(kAny), temporary);
    if (!fd) return errno;
    int problem = write_all(fd.get(), content);
    if (problem == 0 && mode && ::fchmod(fd.get(), *mode) != 0) problem = errno;
    if (problem == 0 && ::fsync(fd.get()) != 0) problem = errno;
    if (problem == 0 && ::rename(temporary.c_str(), file.c_str()) != 0) problem = errno;
    if (problem != 0) {
        ::unlink(temporary.c_str());
        return problem;
    }
    synced = sync_directory(file.parent_path());
    return 0;
}

Result<Done> told(int problem, int synced, const std::filesystem::path& file) {
    if (problem != 0) return error_from_errno(problem, file.native());
    if (synced == 0) return Done{};
    auto error = error_from_errno(synced, file.native());
    error.message += " (it is written, but may not outlast a power cut)";
    return error;
}

}  // namespace

Result<Done> replace_file(const std::filesystem::path& file, std::string_view content,
                          std::optional<std::uint32_t> mode) {
    int synced = 0;
    const int problem = replace(file, content, mode, synced);
    return told(problem, synced, file);
}

Result<Done> write_output(const std::filesystem::path& path, std::string_view content,
                          std::optional<std::uint32_t> mode) {
    struct stat present {};
    const bool there = ::stat(path.c_str(), &present) == 0;
    if (there && !S_ISREG(present.st_mode)) return write_into(path, content);
    std::error_code ignored;
    const auto real = there ? std::filesystem::canonical(path, ignored) : path;
    int synced = 0;
    const int problem = replace(real.empty() ? path : real, content, mode, synced);
    if (there && is_about_the_directory(problem)) return write_into(path, content);
    return told(problem, synced, path);
}

}  // namespace aliquot::os
