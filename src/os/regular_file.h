// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::os {

/// Names the file system that a file is on.
struct DeviceNumber {
    unsigned major = 0;
    unsigned minor = 0;
    friend bool operator==(const DeviceNumber&, const DeviceNumber&) = default;
};

/// Empty: the kernel does not tell.
std::optional<DeviceNumber> device_of(int fd);

struct RegularFileOptions {
    bool write = false;
    bool follow = false;  // symbolic links, also those of /proc/PID/fd
    std::optional<DeviceNumber> only_on;
};

/// Opens a file that lies where others may have put something else. It is looked at before it is
/// opened: a pipe, a device or a socket never learns of it, a lease that somebody holds is not waited
/// for, and a file system that a program serves is not asked.
/// errors   kNotFound, kPermission; kInvalidInput: not a regular file, or on another file system;
///          kUnavailable: somebody holds a lease on it
Result<Descriptor> open_regular(const std::filesystem::path& file,
                                const RegularFileOptions& options = {});

}  // namespace aliquot::os
