// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "sim/node/node.h"

namespace aliquot::sim {

/// `aliquot sim`: up, down, status, env, fault, use.
void add_sim_command(command_line::Command& program, cli::Context& context);

/// The parts of it, one file each.
void add_sim_fault(command_line::Command& sim, cli::Context& context);
void add_sim_status(command_line::Command& sim, cli::Context& context);
void add_sim_use(command_line::Command& sim, cli::Context& context);

/// --state, or $ALIQUOT_SIM_STATE, or /tmp/aliquot-sim-<uid>. Absolute.
std::filesystem::path state_directory(const std::string& option);

/// The node in that directory; the error says how to make one.
Result<Node> open_node(const std::filesystem::path& directory);

/// Prints the error and sets the exit code: 2 for wrong input, else 3.
void fail_with(cli::Context& context, const Error& error);

/// A text as one word of a POSIX shell: in single quotes when it needs any.
std::string shell_word(std::string_view text);

/// What `sim env` prints: three export lines.
std::string environment_text(const std::filesystem::path& directory);

/// "xid", "lost", ... as `sim fault` takes them, with the value it needs.
struct FaultWords {
    FaultKind kind = FaultKind::kClear;
    std::uint64_t value = 0;
};
/// errors   kInvalidInput: unknown word, or a value that is missing, too much or no number
Result<FaultWords> parse_fault(const std::string& word, const std::optional<std::string>& value,
                               bool corrected);

/// Where a program may run: a GPU, or a MIG device of it.
struct UsablePlace {
    GpuView gpu;
    std::optional<MigDeviceView> device;
    [[nodiscard]] Instance instance() const { return device ? device->instance : Instance{}; }
};

/// What of `gpus` a program of this environment may use, as CUDA shows it: what
/// ALIQUOT_SIM_VISIBLE_DEVICES lists, else NVIDIA_VISIBLE_DEVICES, else all. A list holds uuids of
/// GPUs and MIG devices, indices of GPUs, and "0:2" for MIG device 2 of GPU 0; "all" is all; "none"
/// and "void" are none. A GPU in MIG mode is shown as its MIG devices, and a program can use only
/// one MIG device, so when the first place is one it is the only one.
std::vector<UsablePlace> visible_places(const std::vector<GpuView>& gpus,
                                        const std::optional<std::string>& sim_visible,
                                        const std::optional<std::string>& nvidia_visible);

/// The MIG device that a user means: its uuid, "0:2" (GPU and device index) or "2" on `gpu`.
/// errors   kNotFound: there is none
Result<UsablePlace> find_mig_device(const std::vector<GpuView>& gpus, const std::string& text,
                                    std::optional<unsigned> gpu);

}  // namespace aliquot::sim
