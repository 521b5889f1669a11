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

/// The simulated node: GPUs as state in one mapped file that every process of the node shares, so
/// that memory, processes and faults look the same from nvidia-smi, an agent and a workload. The
/// engine behind sim/nvml (and later sim/cuda), behind `aliquot sim` and behind tests.
namespace aliquot::sim {

/// The file in the state directory.
inline constexpr std::string_view kStateFile = "node.state";

/// What `aliquot sim up` is asked for: "a2", "h100-80:8".
struct GpuRequest {
    std::string model;
    unsigned count = 1;
};
/// errors   kInvalidInput: no such model (the message lists them, or the nearest), count not 1..16
Result<GpuRequest> parse_gpu_request(std::string_view text);

struct NodeOptions {
    std::vector<GpuRequest> gpus;
    std::string driver_version = "580.65.06";
    int cuda_version = 13000;
    std::uint64_t seed = 1;  // uuids and serial numbers follow from it
};

enum class FaultKind : std::uint8_t {
    kXid,        // value: the number; sends the event. 79 also loses the GPU
    kLost,       // every call answers GPU_IS_LOST
    kCallError,  // every call on the GPU answers NVML error `value`
    kHang,  // every call on the GPU blocks until the fault is cleared (or `value` ms; 0: no limit)
    kEccCorrected,  // adds `value` errors; sends the event
    kEccUncorrected,
    kThrottle,     // value: bits of NVML clocks event reasons
    kTemperature,  // value: degrees Celsius; 0: back to what the load gives
    kClear,        // undoes lost, call error, hang, throttle, temperature and the recovery action
};

struct GpuView {
    unsigned index = 0;
    std::string model;    // table name: "a2"
    std::string product;  // "NVIDIA A2"
    std::string uuid;
    std::string pci_bus_id;  // "00000000:3b:00.0"
    std::uint64_t memory_total_bytes = 0;
    std::uint64_t memory_used_bytes = 0;  // processes and what the driver reserves
    unsigned processes = 0;
    std::string fault;  // "lost", "call error 999"; empty: none
    std::uint64_t last_xid = 0;
};

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

    /// errors   kNotFound: no such GPU
    Result<Done> inject(unsigned gpu, FaultKind kind, std::uint64_t value);

    /// Registers a process with memory on a GPU, or changes how much it holds; 0 bytes removes it.
    /// A process that has died is dropped by whoever looks next.
    /// errors   kNotFound; kConflict: not enough free memory on that GPU (nothing changed)
    Result<Done> set_process(unsigned gpu, std::uint32_t pid, std::uint64_t memory_bytes,
                             unsigned sm_percent);

private:
    class Implementation;
    explicit Node(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

/// Names of the model table, for messages and completion: "gtx-1070", "a2", "h100-80", ...
std::vector<std::string> model_names();

}  // namespace aliquot::sim
