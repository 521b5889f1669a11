// SPDX-License-Identifier: Apache-2.0
#include "os/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "os/root.h"

namespace aliquot::os {
namespace {

/// What the kernel knows without asking whoever serves the file system.
bool look_at(int fd, struct statx& found) {
    return ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &found) == 0;
}

DeviceNumber device_in(const struct statx& found) {
    return {found.stx_dev_major, found.stx_dev_minor};
}

}  // namespace

std::optional<DeviceNumber> device_of(int fd) {
    struct statx found {};
    if (!look_at(fd, found)) return std::nullopt;
    return device_in(found);
}

Result<Descriptor> open_regular(const std::filesystem::path& file,
                                const RegularFileOptions& options) {
    const int last = options.follow ? 0 : O_NOFOLLOW;
    const Descriptor place(::open(file.c_str(), O_PATH | O_CLOEXEC | last));
    struct statx found {};
    if (!place || !look_at(place.get(), found)) return error_from_errno(errno, file.native());
    if (!S_ISREG(found.stx_mode)) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": not a regular file"};
    }
    if (options.only_on && *options.only_on != device_in(found)) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": not on the file system expected"};
    }
    const std::string same = "/proc/self/fd/" + std::to_string(place.get());
    const int access = options.write ? O_RDWR : O_RDONLY;
    Descriptor opened(::open(same.c_str(), access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (opened) return opened;
    if (errno == EWOULDBLOCK) {
        return Error{ErrorCode::kUnavailable, file.native() + ": another process holds a lease"};
    }
    return error_from_errno(errno, file.native());
}

}  // namespace aliquot::os
