// SPDX-License-Identifier: Apache-2.0
#include "os/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "os/replace_file.h"

namespace aliquot::os {
namespace {

bool leaves_tree(std::string_view path) {
    return std::filesystem::path(path).relative_path().lexically_normal().native().starts_with(
        "..");
}

FileStatus::Kind kind_of(mode_t mode) {
    using enum FileStatus::Kind;
    if (S_ISREG(mode)) return kRegular;
    if (S_ISDIR(mode)) return kDirectory;
    if (S_ISSOCK(mode)) return kSocket;
    if (S_ISCHR(mode)) return kCharacterDevice;
    if (S_ISLNK(mode)) return kSymlink;
    return kOther;
}

}  // namespace

Root::Root(std::filesystem::path base) : base_(std::move(base)) {
    if (base_.empty()) base_ = "/";
}

std::filesystem::path Root::resolve(std::string_view path) const {
    return base_ / std::filesystem::path(path).relative_path();
}

Result<std::string> Root::read(std::string_view path, std::size_t limit_bytes) const {
    if (leaves_tree(path))
        return Error{ErrorCode::kInvalidInput, std::string(path) + ": leaves the root"};
    const auto file = resolve(path);
    // O_NONBLOCK: what lies there may be a pipe that nobody writes, or held by a lease.
    const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return error_from_errno(errno, file.native());
    if (S_ISFIFO(status.st_mode)) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": a pipe; expected a file"};
    }
    std::string content;
    std::array<char, 16384> chunk{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_from_errno(errno, file.native());
        if (got == 0) return content;
        content.append(chunk.data(), static_cast<std::size_t>(got));
        if (content.size() > limit_bytes) {
            return Error{ErrorCode::kInvalidInput,
                         file.native() + ": larger than " + std::to_string(limit_bytes) + " bytes"};
        }
    }
}

Result<Done> Root::write_atomically(std::string_view path, std::string_view content,
                                    std::uint32_t mode) const {
    if (leaves_tree(path))
        return Error{ErrorCode::kInvalidInput, std::string(path) + ": leaves the root"};
    const auto file = resolve(path);
    std::error_code problem;
    std::filesystem::create_directories(file.parent_path(), problem);
    if (problem) return error_from_errno(problem.value(), file.parent_path().native());

    return replace_file(file, content, mode);
}

Result<Done> Root::remove(std::string_view path) const {
    if (leaves_tree(path))
        return Error{ErrorCode::kInvalidInput, std::string(path) + ": leaves the root"};
    const auto file = resolve(path);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
        return error_from_errno(errno, file.native());
    return Done{};
}

Result<Done> Root::make_directories(std::string_view path, std::uint32_t mode) const {
    if (leaves_tree(path))
        return Error{ErrorCode::kInvalidInput, std::string(path) + ": leaves the root"};
    const auto directory = resolve(path);
    std::error_code problem;
    const bool made = std::filesystem::create_directories(directory, problem);
    if (problem) return error_from_errno(problem.value(), directory.native());
    if (made && ::chmod(directory.c_str(), mode) != 0)
        return error_from_errno(errno, directory.native());
    return Done{};
}

Result<FileStatus> Root::status(std::string_view path, bool follow) const {
    const auto file = resolve(path);
    struct stat raw {};
    if ((follow ? ::stat(file.c_str(), &raw) : ::lstat(file.c_str(), &raw)) != 0) {
        return error_from_errno(errno, file.native());
    }
    FileStatus status;
    status.kind = kind_of(raw.st_mode);
    status.size_bytes = static_cast<std::uint64_t>(raw.st_size);
    status.mode = raw.st_mode & 07777U;
    status.device_major = major(raw.st_rdev);
    status.device_minor = minor(raw.st_rdev);
    status.identity = {raw.st_dev, raw.st_ino,
                       raw.st_ctim.tv_sec * 1'000'000'000LL + raw.st_ctim.tv_nsec};
    return status;
}

bool Root::exists(std::string_view path) const { return status(path).ok(); }

Result<std::vector<std::string>> Root::list(std::string_view directory, std::size_t limit) const {
    const auto path = resolve(directory);
    std::error_code problem;
    std::filesystem::directory_iterator entry(path, problem);
    if (problem) return error_from_errno(problem.value(), path.native());
    std::vector<std::string> names;
    while (entry != std::filesystem::directory_iterator() && names.size() < limit) {
        names.push_back(entry->path().filename().native());
        entry.increment(problem);
        if (problem) return error_from_errno(problem.value(), path.native());
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace aliquot::os
