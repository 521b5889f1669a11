// SPDX-License-Identifier: Apache-2.0
#include "nvml/gpu_reset.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"
#include "os/exchange.h"

namespace aliquot::nvml {
namespace {

constexpr std::size_t kQuotedLimit = 400;

Error explain(const std::string& line, const os::Exit& exit) {
    const std::string what = "nvidia-smi --gpu-reset ended with " + std::to_string(exit.code) +
                             ": " + (line.empty() ? std::string("it printed nothing") : line);
    if (contains_folded(line, "in use") || contains_folded(line, "being used")) {
        return {ErrorCode::kConflict,
                what +
                    "; stop what has the GPU open: pods, dcgm, exporters, nvidia-persistenced, "
                    "nvidia-fabricmanager, a display server; then try again"};
    }
    if (contains_folded(line, "not supported")) {
        return {ErrorCode::kUnsupported,
                what + "; a virtual machine mostly cannot reset its GPU: reboot it"};
    }
    if (contains_folded(line, "permission") || contains_folded(line, "root")) {
        return {ErrorCode::kPermission, what + "; resetting a GPU takes root"};
    }
    return {ErrorCode::kUnavailable, what};
}

std::string list(const std::vector<gpu::PciAddress>& gpus) {
    std::string text = listed(
        gpus, [](const gpu::PciAddress& gpu) { return gpu::to_text(gpu); }, ",");
    return text;
}

}  // namespace

Result<ResetProgram> find_reset_program(const os::Root& root, const std::string& driver_root,
                                        const std::string& library) {
    std::filesystem::path installation = driver_root.empty() ? "/" : driver_root;
    // The driver root may be the library itself: <root>/usr/lib64/libnvidia-ml.so.1.
    if (installation.filename().native().contains(".so")) {
        installation = installation.parent_path().parent_path();
        if (installation.filename() == "usr") installation = installation.parent_path();
    }
    for (const auto* folder : {"usr/bin", "bin", "usr/local/bin", "usr/local/nvidia/bin"}) {
        const auto path = root.resolve((installation / folder / "nvidia-smi").native());
        if (::access(path.c_str(), X_OK) != 0) continue;
        return ResetProgram{path.native(), std::filesystem::path(library).parent_path().native()};
    }
    return Error{ErrorCode::kNotFound, "no nvidia-smi in usr/bin or bin beneath the driver root " +
                                           installation.native() +
                                           "; only that program can reset a GPU"};
}

Result<Done> reset_gpus(const ResetProgram& program, const std::vector<gpu::PciAddress>& gpus,
                        std::chrono::milliseconds deadline) {
    const std::string what = "reset of GPU " + list(gpus);
    os::Command command{.argv = {program.path, "--gpu-reset", "-i", list(gpus)},
                        .environment = os::current_environment(),
                        .working_directory = {},
                        .output_path = {}};
    if (!program.library_directory.empty()) {
        command.environment["LD_LIBRARY_PATH"] = program.library_directory;
    }
    const auto done = os::exchange(std::move(command), "", {.deadline = deadline});
    if (!done && done.error().code == ErrorCode::kUnavailable) {
        return Error{ErrorCode::kUnavailable,
                     what + " was not done within " + std::to_string(deadline.count() / 1000) +
                         " s: " + done.error().message +
                         "; look at dmesg (NVRM, Xid), a reboot of the node fixes it"};
    }
    if (!done) return Error(done.error()).during(what);
    if (done->exit.code != 0)
        return explain(one_line(join(words_of(done->output), " "), kQuotedLimit), done->exit)
            .during(what);
    return Done{};
}

}  // namespace aliquot::nvml
