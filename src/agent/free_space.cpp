// SPDX-License-Identifier: Apache-2.0
#include "agent/free_space.h"

#include <sys/statvfs.h>

#include <filesystem>

#include "k8s/memory_amount.h"

namespace aliquot::agent {
namespace {

/// A region, the guard's library and a record with its successor beside it.
constexpr std::uint64_t kNeededBytes = 1U << 20U;
constexpr std::uint64_t kNeededFiles = 16;

}  // namespace

std::optional<FreeSpace> free_space(const os::Root& root, const std::string& path) {
    std::filesystem::path place = root.resolve(path);
    struct statvfs told {};
    while (::statvfs(place.c_str(), &told) != 0) {
        if (!place.has_relative_path() || place == place.parent_path()) return std::nullopt;
        place = place.parent_path();
    }
    FreeSpace space{.bytes = std::uint64_t{told.f_bavail} * told.f_frsize, .files = {}};
    if (told.f_files > 0) space.files = told.f_favail;
    return space;
}

std::string shortage(const std::string& path, const FreeSpace& space) {
    const std::string cause = ", so pods with limits are refused; make room on its file system";
    if (space.bytes < kNeededBytes) {
        return path + " has " + k8s::bytes_text(space.bytes) + " left, " +
               k8s::bytes_text(kNeededBytes) + " are needed" + cause;
    }
    if (space.files && *space.files < kNeededFiles) {
        return path + " has room for " + std::to_string(*space.files) + " files, " +
               std::to_string(kNeededFiles) + " are needed" + cause;
    }
    return {};
}

std::string shortage_in(const os::Root& root, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
        const auto space = free_space(root, directory);
        if (!space) continue;
        if (auto problem = shortage(directory, *space); !problem.empty()) return problem;
    }
    return {};
}

}  // namespace aliquot::agent
