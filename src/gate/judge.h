// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The clean-GPU gate: between two jobs a GPU has no process, its memory at the base line, no fault, its clocks
/// and its MIG devices as they were. Pure judgement, looks through the seams of src/gpu, one act: to end
/// processes.
namespace aliquot::gate {

/// One GPU at one moment.
struct GpuState {
    std::string uuid;
    unsigned index = 0;
    std::string problem;  // why it does not answer, or is not to be handed out; empty: it is well
    std::vector<std::uint32_t> processes;  // pids as the driver tells them
    std::uint64_t memory_used_bytes = 0;
    std::optional<std::uint64_t> ecc_uncorrected;  // since the driver was loaded
    std::optional<unsigned> recovery_action;       // the driver's advice, see gpu::Probe
    bool clocks_set = false;                       // somebody has set application clocks
    std::optional<std::uint64_t> power_limit_milliwatts;
    bool mig_enabled = false;
    std::vector<std::string> mig_devices;  // "1g.10gb@0", by index
    friend bool operator==(const GpuState&, const GpuState&) = default;
};
using NodeState = std::vector<GpuState>;

enum class LeftoverKind : std::uint8_t { kProcess, kMemory, kFault, kEcc, kClocks, kMig, kGone };
std::string_view to_text(LeftoverKind kind);  // "process"

struct Leftover {
    LeftoverKind kind = LeftoverKind::kProcess;
    std::string uuid;
    unsigned gpu = 0;
    std::uint32_t pid = 0;  // of a process
    std::string message;    // "GPU 0: process 4711 is still there"
    friend bool operator==(const Leftover&, const Leftover&) = default;
};

struct Rules {
    std::uint64_t memory_bytes = 200ULL << 20U;  // less than this is nobody's
};

/// What is not as it should be. base   what was there before the job; nullptr: not known, then only what is
/// wrong by itself counts. Processes that were there before are not the job's.
std::vector<Leftover> judge(const NodeState& now, const NodeState* base, const Rules& rules = {});

}  // namespace aliquot::gate
