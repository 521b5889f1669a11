// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/tree.h"
#include "doctor/cluster.h"
#include "document/json.h"
#include "document/path.h"
#include "document/toml.h"
#include "grant/mechanism.h"

namespace aliquot::doctor {

/// Where something was read.
struct Location {
    std::string path;   // "/etc/containerd/config.toml", "cmd/dmesg.txt", "k8s/pods.json"
    unsigned line = 0;  // from 1; 0: the file as a whole
    std::string text;   // what stands there
};

/// Whether a question has an answer. kUnknown carries the reason in words.
enum class State : std::uint8_t { kOk, kAbsent, kUnknown };

template <class T>
struct Fact {
    State state = State::kUnknown;
    T value{};
    std::string reason = "was not looked at";  // of kUnknown
    Location place;
    [[nodiscard]] bool ok() const { return state == State::kOk; }
    [[nodiscard]] bool absent() const { return state == State::kAbsent; }
    [[nodiscard]] bool unknown() const { return state == State::kUnknown; }
};

struct PciDevice {
    std::string address;        // "0000:01:00.0"
    unsigned vendor = 0;        // 0x10de
    unsigned device = 0;        // 0x25b6; 0: not told
    unsigned device_class = 0;  // 0x030200
    std::string name;           // from lspci; may be empty
    std::string driver;         // "nvidia", "nouveau", "vfio-pci"; empty: none or not told
    std::optional<unsigned> link_width;
    std::optional<unsigned> link_width_most;
    bool memory_unassigned = false;  // BAR1 has no window
    std::uint64_t fatal_errors = 0;  // AER, since boot
    Location place;
    [[nodiscard]] bool gpu() const {
        return device_class >> 8U == 0x0300 || device_class >> 8U == 0x0302;
    }
    [[nodiscard]] bool nvswitch() const { return device_class >> 8U == 0x0680; }
};

struct KernelGpu {
    std::string address;
    std::string model;
    std::string uuid;
    std::optional<unsigned> minor;  // of its device node
    Location place;
};

struct LogLine {
    std::string text;
    Location place;
};

struct Xid {
    std::string address;  // "0000:01:00" as logged
    unsigned number = 0;
    Location place;
};

struct ModuleFile {
    std::string kernel;  // "6.8.0-79-generic"
    Location place;
};

/// A process that matters here.
struct Program {
    std::string name;  // comm
    std::vector<std::string> arguments;
    std::int64_t started_s = 0;  // since 1970; 0: not told
    Location place;
};

struct HostFacts {
    Fact<std::vector<PciDevice>> pci;   // of NVIDIA only
    Fact<std::string> virtual_machine;  // what machine it is, when it is a virtual one
    Fact<std::string> kernel;           // uname -r
    Fact<std::string> command_line;     // of the kernel
    Fact<std::set<std::string, std::less<>>> modules;
    Location modules_place;
    Fact<std::string> driver;  // version of the loaded module
    bool open_modules = false;
    Fact<std::vector<KernelGpu>> gpus;
    std::vector<ModuleFile> module_files;
    std::map<std::string, Location> modinfo;  // field -> value (in text), of nvidia
    Fact<bool> secure_boot;
    Fact<bool> selinux;
    std::vector<LogLine> modprobe_lines;  // of modprobe.d, without comments
    std::vector<LogLine> kernel_log;  // lines that name NVRM, nvidia, nouveau, PCI, AER, modules
    Fact<bool> kernel_log_read;
    std::vector<Xid> xids;                         // in the order of the log
    std::map<std::string, std::string> libraries;  // version of libnvidia-ml -> path
    Fact<std::string> library;                     // the newest of them
    std::vector<Program> programs;
    Fact<std::int64_t> booted_s;
    bool wsl = false;
    bool jetson = false;  // the GPU is part of the chip, its driver of the kernel
    [[nodiscard]] std::vector<PciDevice> pci_gpus() const;
    [[nodiscard]] bool has_switches() const;
    [[nodiscard]] const Program* program(std::string_view name) const;
};

/// One GPU as NVML (or nvidia-smi) tells it; an empty field: not told.
struct NvmlGpu {
    unsigned index = 0;
    std::string uuid, name, address;
    int error = 0;  // NVML's code when this GPU does not answer
    std::string error_text;
    std::optional<bool> persistence;
    std::string compute_mode;              // "Default", "Exclusive_Process"
    std::string mig_current, mig_pending;  // "Enabled", "Disabled"
    [[nodiscard]] bool in_mig_mode() const { return mig_current == "Enabled"; }
    std::optional<unsigned> mig_instances;
    std::optional<std::uint64_t> ecc_uncorrected;  // volatile
    std::optional<std::uint64_t> ecc_corrected;
    std::optional<bool> remap_pending, remap_failed, pages_pending;
    std::string recovery_action;  // "None", "Reset", "Reboot", ...
    std::string fabric_state;     // "In Progress", "Completed"
    std::string license;          // of a vGPU guest
    std::optional<unsigned> utilization, memory_used_mib, memory_total_mib, temperature;
    std::optional<double> power_limit_w, power_default_w;
    std::optional<unsigned> sm_clock_mhz, sm_clock_most_mhz;
    std::string performance_state;                    // "P0"
    std::optional<std::uint64_t> throttle_bits;       // clocks_event_reasons.active
    std::map<std::string, double> throttled_percent;  // reason -> part of the time
    std::optional<unsigned> link_width, link_width_most;
    std::optional<unsigned> link_generation, link_generation_most;  // the first falls while idle
    std::optional<double> link_rx_bytes_per_s, link_tx_bytes_per_s;
    std::optional<unsigned> nvlinks_inactive;
    std::optional<std::uint64_t> nvlink_errors;
    std::optional<double> sm_active;  // 0 to 1
    std::string infrom_corrupt;
    std::string compute_capability;
    Location place;
};

struct NvmlProcess {
    std::string gpu;  // uuid or index
    std::uint32_t pid = 0;
    std::string name;
    std::string pod;  // "ns/name"; empty: none known
    std::uint64_t memory_mib = 0;
    std::optional<unsigned> utilization;
    Location place;
};

struct NvmlFacts {
    enum class State : std::uint8_t { kUnknown, kOk, kFailed, kHung };
    State state = State::kUnknown;
    std::string reason = "NVML was not asked";
    int code = 0;  // NVML's, of kFailed
    std::string message;
    std::string driver, library, cuda;  // versions
    std::vector<NvmlGpu> gpus;
    std::vector<NvmlProcess> processes;
    Location place;
};

/// What a container uses of a GPU or of a MIG instance, as the agent's page tells it.
struct ShareUse {
    std::string pod;  // "ns/name"; empty: of no pod
    std::string container;
    std::string gpu;   // uuid
    std::string part;  // "GPU 0", "GPU 0, MIG instance 3 (1g.10gb)"
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    std::vector<std::uint32_t> pids;
    double entitlement = 0;        // 0 to 1 of the part; 0: it holds nothing
    std::optional<double> used;    // 0 to 1 of the part's time
    std::optional<double> waited;  // 0 to 1 of the time it was kept waiting by its limit
    std::optional<double> denied;  // requests for memory above its limit
    std::optional<double> cores;   // CPU cores that its processes used
    std::uint64_t memory_mib = 0;
    std::optional<std::uint64_t> memory_limit_mib;
    Location place;
};

/// What agents tell of GPUs and who uses them: agent/NODE/state.json, and state-later.json a few
/// seconds after it.
struct TelemetryFacts {
    bool known = false;
    std::string reason = "no agent was asked: --slow does that";
    double seconds = 0;  // between the two looks; 0: there is only one
    NvmlFacts measured;  // the same as NVML's answers; those themselves where no agent was read
    std::vector<ShareUse> shares;
};

/// The container runtime that kubelet uses, and what it was told of NVIDIA.
struct RuntimeFacts {
    enum class Kind : std::uint8_t { kNone, kContainerd, kCrio, kDocker };
    struct Handler {
        std::string name;
        std::string binary;
        std::string type;  // runtime_type
        std::optional<bool> systemd_cgroup;
        Location place;
    };
    struct File {
        std::string path;
        document::Toml toml;
        int version = 1;
        bool effective = false;  // the runtime reads it
    };
    Kind kind = Kind::kNone;
    std::string flavour;  // "containerd", "MicroK8s", "k3s", "RKE2", "k0s", "CRI-O", "Docker"
    std::string restart;  // the command
    std::string edit;     // the file to write an entry to
    std::string version;  // "1.7.28"; empty: not told
    std::string socket;
    Location place;  // how we know
    std::vector<File> files;
    std::vector<Handler> handlers;
    std::vector<Handler> elsewhere;  // in files that the runtime does not read
    std::string default_handler;
    Location default_place;
    std::optional<bool> cdi_enabled;
    Location cdi_place;
    std::optional<bool> systemd_cgroup;  // of runc
    [[nodiscard]] const Handler* nvidia_handler() const;
    /// A plain text file holds it: crio.conf and daemon.json are read here as well.
    [[nodiscard]] bool found() const { return kind != Kind::kNone; }
};

struct ToolkitFacts {
    std::string version;
    Location version_place;
    Fact<document::Toml> config;
    std::string config_path;
    bool on_host = false;        // installed by packages
    bool from_operator = false;  // /usr/local/nvidia/toolkit
    bool nvidia_docker2 = false;
    Location docker2_place;
};

struct CdiSpec {
    std::string kind;
    std::string version;
    std::vector<std::string> devices;
    std::vector<Location> device_nodes;  // text: the path
    std::vector<Location> libraries;     // text: the host path of a mount
    std::string driver;                  // version that its libraries carry
    Location driver_place;
    std::string problem;  // why it could not be read
    Location place;
};

struct KubeletFacts {
    std::string root = "/var/lib/kubelet";
    std::string root_reason;  // how we know
    Fact<std::string> config_text;
    Value config;
    std::string runtime_endpoint;
    Fact<std::vector<std::string>> plugin_directory;  // names in device-plugins
    std::string plugin_path;
    Fact<Value> checkpoint;
    std::vector<LogLine> log;
    bool present = false;
};

/// What was asked of doctor.
struct Target {
    enum class Kind : std::uint8_t { kHost, kNode, kPod, kCluster };
    Kind kind = Kind::kHost;
    std::string name;         // node, or "NAMESPACE/POD"
    std::string container{};  // of the pod; empty: all of them
    std::uint32_t pid = 0;    // of the host; 0: all of them
};
std::string_view to_text(Target::Kind kind);

/// Everything that checks may ask. Made by facts_of() from a Tree, a plain value.
struct Facts {
    Tree tree;
    Target target;
    HostFacts host;
    NvmlFacts nvml;
    TelemetryFacts telemetry;
    RuntimeFacts runtime;
    ToolkitFacts toolkit;
    std::vector<CdiSpec> cdi;
    KubeletFacts kubelet;
    ClusterFacts cluster;
    std::int64_t now_s = 0;
    /// Of the pods that wait for a node (pending_pods()): "NAMESPACE/POD" -> the SCH check that says why.
    std::map<std::string, std::string> pending;
};

/// Reads the facts out of a tree. Pure.
Facts facts_of(Tree tree, const Target& target);

// The parts of facts_of().
void read_hardware(Facts& facts);
void read_driver(Facts& facts);
void read_kernel_log(Facts& facts);
void read_nvml(Facts& facts);
void read_telemetry(Facts& facts);
void read_runtime(Facts& facts);
void read_toolkit(Facts& facts);
void read_kubelet(Facts& facts);
void read_pending(Facts& facts);

/// Where a log line stands.
Location place_in(const std::string& path, unsigned line, std::string_view text);

/// The NVIDIA error number of a text that nvidia-smi or NVML printed; 0: none that we know.
int nvml_code_of(std::string_view text);

}  // namespace aliquot::doctor
