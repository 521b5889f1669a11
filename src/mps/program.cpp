// SPDX-License-Identifier: Apache-2.0
#include "mps/program.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "os/spawner.h"

namespace aliquot::mps {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kProgramPlaces{"usr/bin", "bin", "usr/local/bin",
                                                         "opt/bin"};
constexpr std::array<std::string_view, 7> kLibraryPlaces{"usr/lib/x86_64-linux-gnu",
                                                         "usr/lib/aarch64-linux-gnu",
                                                         "usr/lib64",
                                                         "usr/lib",
                                                         "lib/x86_64-linux-gnu",
                                                         "lib64",
                                                         "lib"};

std::string beneath(std::string directory, std::string_view name) {
    while (directory.ends_with('/')) directory.pop_back();
    return directory + "/" + std::string(name);
}

bool is_of_driver(std::string_view name) {
    const bool prefix = name.starts_with("libcuda.so") || name.starts_with("libnvidia-");
    return prefix && name.contains(".so");
}

/// Links to the driver's libraries; what cannot be linked the program will miss by name.
void link_libraries(const os::Root& root, const std::string& driver_root,
                    const std::string& directory) {
    if (!root.make_directories(directory)) return;
    for (const std::string_view place : kLibraryPlaces) {
        const std::string from = beneath(driver_root, place);
        const auto names = root.list(from);
        if (!names) continue;
        for (const std::string& name : *names) {
            if (!is_of_driver(name)) continue;
            const fs::path link = root.resolve(beneath(directory, name));
            std::error_code ignored;
            const fs::path target = root.resolve(beneath(from, name));
            if (fs::read_symlink(link, ignored) == target) continue;
            fs::remove(link, ignored);
            fs::create_symlink(target, link, ignored);
        }
    }
}

}  // namespace

Result<Program> find_program(const os::Root& root, const std::vector<std::string>& driver_roots,
                             const std::string& library_directory) {
    std::string looked;
    for (const std::string& driver_root : driver_roots) {
        for (const std::string_view place : kProgramPlaces) {
            const std::string path = beneath(beneath(driver_root, place), kProgramName);
            const fs::path file = root.resolve(path);
            if (::access(file.c_str(), X_OK) != 0) {
                if (place == kProgramPlaces.front()) looked += (looked.empty() ? "" : ", ") + path;
                continue;
            }
            Program program{.path = file.native(), .environment = os::current_environment()};
            for (const auto* name :
                 {"CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
                  "CUDA_MPS_CLIENT_PRIORITY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                  "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"}) {
                program.environment.erase(name);
            }
            // The control daemon looks for the server program beside itself and in PATH.
            program.environment["PATH"] =
                file.parent_path().native() + ":/usr/local/bin:/usr/bin:/bin";
            if (file.parent_path() != fs::path("/usr/bin")) {
                link_libraries(root, driver_root, library_directory);
                program.environment["LD_LIBRARY_PATH"] = root.resolve(library_directory).native();
            }
            return program;
        }
    }
    return Error{ErrorCode::kNotFound,
                 "there is no nvidia-cuda-mps-control in " + looked +
                     " (or bin beside it); it comes with the driver's compute utilities"};
}

}  // namespace aliquot::mps
