// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/node/fault.h"
#include "sim/node/options.h"
#include "sim/node/state.h"

/// The simulated node: GPUs as state in one mapped file that every process of the node shares, so
/// that memory, processes and faults look the same from nvidia-smi, an agent and a workload. The
/// engine behind sim/nvml (and later sim/cuda), behind `aliquot sim` and behind tests.
namespace aliquot::sim {

/// The file in the state directory.
inline constexpr std::string_view kStateFile = "node.state";

/// A MIG device of a GPU.
struct MigDeviceView {
    Instance instance;
    unsigned index = 0;                    // as NVML counts them
    std::string uuid;                      // "MIG-..."
    std::string profile;                   // "3g.20gb", "1c.3g.20gb"
    unsigned start = 0;                    // first memory slice of its GPU instance
    unsigned size = 0;                     // memory slices
    std::uint64_t memory_total_bytes = 0;  // of its GPU instance
    std::uint64_t memory_used_bytes = 0;
    unsigned processes = 0;  // on this device
};

struct GpuView {
    unsigned index = 0;
    std::string model;    // table name: "a2"
    std::string product;  // "NVIDIA A2"
    std::string uuid;
    std::string pci_bus_id;  // "00000000:3b:00.0"
    std::uint64_t memory_total_bytes = 0;
    std::uint64_t memory_used_bytes = 0;  // processes and what the driver reserves
    std::uint64_t memory_peak_bytes = 0;  // of processes together, since made or reset_peaks()
    unsigned processes = 0;
    std::string fault;  // "lost", "call error 999"; empty: none
    std::uint64_t last_xid = 0;
    bool mig_capable = false;
    bool mig_enabled = false;
    bool mig_pending = false;                // the mode after the next reset
    std::vector<MigDeviceView> mig_devices;  // by index
};

/// A process on a GPU.
struct ProcessView {
    std::uint32_t pid = 0;
    Instance where;
    std::uint64_t memory_bytes = 0;
    std::uint64_t memory_peak_bytes = 0;
    unsigned sm_percent = 0;         // that it wants
    unsigned share_percent = 0;      // that it gets: others may want more than there is, too
    std::uint64_t submitted_ns = 0;  // work it gave to the GPU
    std::uint64_t executed_ns = 0;   // and what of it ran
};

struct LoadScript;  // script.h

/// A simulated node, opened. Many processes may have the same node open at once; every call is safe
/// between threads and processes, also when one of them is killed in the middle of a call.
class Node {
public:
    /// Makes the node's state directory: state file, libraries (lib/libnvidia-ml.so.1 -> library),
    /// bin/nvidia-smi, dev/, proc/driver/nvidia, sys/bus/pci: everything a driver root has.
    /// library, smi   files to link to
    /// errors   kConflict: there is a node in `directory` already
    static Result<Node> create(const std::filesystem::path& directory, const NodeOptions& options,
                               const std::filesystem::path& library,
                               const std::filesystem::path& smi);

    /// errors   kNotFound: no node there; kInvalidInput: not a state file of this version
    static Result<Node> open(const std::filesystem::path& directory);

    /// Removes what create() made. Processes that still have it open see every GPU as lost.
    static Result<Done> destroy(const std::filesystem::path& directory);

    Node(Node&&) noexcept;
    Node& operator=(Node&&) noexcept;
    ~Node();

    [[nodiscard]] std::vector<GpuView> gpus() const;
    [[nodiscard]] const std::filesystem::path& directory() const;

    /// The processes on one GPU, by pid; none when there is no such GPU.
    [[nodiscard]] std::vector<ProcessView> processes(unsigned gpu) const;
    /// Begins all memory peaks anew at what is held now.
    void reset_peaks();

    /// where   the MIG device that an Xid is about
    /// errors   kNotFound: no such GPU or MIG device
    Result<Done> inject(unsigned gpu, FaultKind kind, std::uint64_t value,
                        const Instance& where = {});

    /// Registers a process with memory on a GPU or MIG device, or changes how much it holds; 0
    /// bytes removes it. A process that has died is dropped by whoever looks next.
    /// errors   kNotFound; kConflict: not enough free memory there, the GPU is in MIG mode and no
    ///          device is named, or its compute mode keeps the process out (nothing changed)
    Result<Done> set_process(unsigned gpu, std::uint32_t pid, std::uint64_t memory_bytes,
                             unsigned sm_percent, const Instance& where = {},
                             ProcessKind kind = ProcessKind::kCompute);

    /// The same, and from now on the process does as the script says, by the clock and however rarely
    /// somebody looks. set_process() ends the script.
    /// returns  when it began
    /// errors   besides: kInvalidInput: not a good script
    Result<std::chrono::steady_clock::time_point> run_script(
        unsigned gpu, std::uint32_t pid, const LoadScript& script, const Instance& where = {},
        ProcessKind kind = ProcessKind::kCompute);

    /// Cuts a GPU anew as a layout says ("3g.20gb,1g.5gb*4", "2g.10gb@2"): MIG mode on, the old
    /// instances gone. As an administrator with a reset would.
    /// errors   kNotFound; kUnsupported: no MIG; kInvalidInput: no such layout; kConflict: a process
    ///          uses the GPU, or the instances do not fit
    Result<Done> cut(unsigned gpu, std::string_view layout);

    /// Resets a GPU: what is pending takes effect, instances and what a reset fixes are gone.
    /// errors   kNotFound; kConflict: a process uses it
    Result<Done> reset(unsigned gpu);

private:
    class Implementation;
    explicit Node(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

/// Names of the model table, for messages and completion: "gtx-1070", "a2", "h100-80", ...
std::vector<std::string> model_names();

}  // namespace aliquot::sim
