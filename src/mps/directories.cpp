// SPDX-License-Identifier: Apache-2.0
#include "mps/directories.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace aliquot::mps {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kReadable = 0755;
constexpr mode_t kShared = 01777;
constexpr mode_t kOthersEnter = 0001;

Result<Done> make(const os::Root& root, const std::string& path, mode_t mode) {
    auto made = root.make_directories(path, kReadable);
    if (!made) return made;
    // Whatever the umask is.
    if (::chmod(root.resolve(path).c_str(), mode) != 0) return os::error_from_errno(errno, path);
    return Done{};
}

/// The topmost directory on the way to `path` (beneath the root) that keeps other users out.
Result<Done> check_parents(const os::Root& root, const std::string& path) {
    for (fs::path parent = fs::path(path).parent_path(); parent.has_relative_path();
         parent = parent.parent_path()) {
        const auto status = root.status(parent.native());
        if (!status) return status.error();
        if ((status->mode & kOthersEnter) != 0) continue;
        return Error{ErrorCode::kConflict,
                     parent.native() +
                         " does not let other users in, so containers that are not root could "
                         "not use MPS; chmod o+x " +
                         parent.native()};
    }
    return Done{};
}

}  // namespace

Directories directories_of(std::string_view mps_root, const gpu::Uuid& gpu) {
    while (mps_root.ends_with('/')) mps_root.remove_suffix(1);
    const std::string base = std::string(mps_root) + "/" + gpu.text;
    return {.base = base, .pipe = base + "/pipe", .log = base + "/log", .shm = base + "/shm"};
}

std::string container_pipe_directory(std::string_view resource) {
    return "/mps/" + std::string(resource) + "/pipe";
}

Result<Done> make_directories(const os::Root& root, const Directories& directories) {
    constexpr std::string_view kLongestName = "/control_privileged";
    const std::string pipe = root.resolve(directories.pipe).native();
    constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
    if (pipe.size() + kLongestName.size() > kMost) {
        return Error{ErrorCode::kInvalidInput,
                     pipe + ": too long for a socket in it; choose a shorter flags.mpsRoot (" +
                         std::to_string(pipe.size() + kLongestName.size() - kMost) +
                         " characters less)"};
    }
    for (const auto& path : {directories.base, directories.pipe, directories.log}) {
        if (auto made = make(root, path, kReadable); !made) return made;
    }
    if (auto made = make(root, directories.shm, kShared); !made) return made;
    return check_parents(root, directories.base);
}

void remove_directories(const os::Root& root, const Directories& directories) {
    std::error_code ignored;
    fs::remove_all(root.resolve(directories.base), ignored);
}

}  // namespace aliquot::mps
