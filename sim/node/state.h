// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// The content of node.state: one block of plain data that every process of a simulated node maps.
///
/// Written only under `mutex`. A writer may be killed between any two stores, so nothing here is
/// derived from anything else but the sums of MemoryState, which are counted anew after such a death:
/// an entry or event exists from the moment its one deciding field is stored. Readers check every
/// index and length.
namespace aliquot::sim {

inline constexpr std::uint64_t kStateMagic = 0x51'4c'41'4d'49'53'0a'1a;
inline constexpr std::uint32_t kStateVersion = 6;
inline constexpr unsigned kMaxGpus = 32;
inline constexpr unsigned kMaxProcesses = 1024;
inline constexpr unsigned kMaxEvents = 256;
inline constexpr unsigned kMaxGpuInstances = 15;     // per GPU; ids 0 to 14, as the driver numbers
inline constexpr unsigned kMaxComputeInstances = 8;  // per GPU instance
inline constexpr unsigned kMaxMarks = 64;            // per process and GPU
inline constexpr unsigned kMaxPhases = 16;           // of a process's script
inline constexpr unsigned kMaxSamples = 120;         // that the driver keeps: twenty seconds
inline constexpr unsigned kThrottles = 5;
inline constexpr std::uint32_t kNoInstance = 0xffffffff;

/// Text of fixed size; always ended by a zero, whatever was in the file.
template <std::size_t N>
struct Text {
    char bytes[N];
    [[nodiscard]] std::string_view view() const {
        std::size_t length = 0;
        while (length < N - 1 && bytes[length] != '\0') ++length;
        return {bytes, length};
    }
    void assign(std::string_view text) {
        for (std::size_t i = 0; i < N; ++i)
            bytes[i] = i < text.size() && i < N - 1 ? text[i] : '\0';
    }
};

/// A whole GPU, or one MIG device of it.
struct Instance {
    std::uint32_t gpu_instance = kNoInstance;
    std::uint32_t compute_instance = kNoInstance;
    [[nodiscard]] bool whole_gpu() const { return gpu_instance == kNoInstance; }
    friend bool operator==(const Instance&, const Instance&) = default;
};

struct FaultState {
    std::uint32_t lost;
    std::uint32_t call_error;     // NVML error of every call; 0: none
    std::uint32_t hang;           // calls block
    std::uint32_t temperature;    // degrees Celsius instead of the load's; 0: the load's
    std::uint64_t hang_until_ns;  // monotonic; 0: until cleared
    std::uint64_t throttle;       // NVML clocks event reasons
    std::uint32_t recovery_action;
    std::uint32_t remap_pending;
    std::uint32_t remap_failed;  // no spare row was left; no reset fixes it
    std::uint32_t link_width;    // PCIe lanes instead of the model's; 0: the model's
    std::uint64_t last_xid;
};

/// Load over time, so that averages and energy are exact: sums up to `since_ns`, the current load
/// goes on from there (usage.h). How busy something was is summed in thousandths of a percent times
/// microseconds.
struct LoadSums {
    std::uint64_t since_ns;  // monotonic
    std::uint64_t energy_nanojoules;
    std::uint64_t busy;
    std::uint64_t memory_busy;
    std::uint64_t switching;  // from the context of one process to another's
    /// Slowed down by: power cap, thermal, hardware thermal, power brake, sync boost.
    std::uint64_t throttled_us[kThrottles];
};

/// What the driver sampled of a GPU, a ring: the sample of a period is at its number modulo
/// kMaxSamples.
struct SampleState {
    std::uint64_t newest;     // number of the last period that has ended
    std::uint64_t told_busy;  // of LoadSums, what the samples have told so far
    std::uint64_t told_memory_busy;
    std::uint8_t gpu[kMaxSamples];  // percent
    std::uint8_t memory[kMaxSamples];
};

/// The same of a process.
struct UseState {
    std::uint64_t busy;
    std::uint64_t told_busy;
    std::uint8_t samples[kMaxSamples];
};

struct PhaseState {
    std::uint64_t at_ns;  // since the script began
    std::uint64_t memory_bytes;
    std::uint32_t sm_percent;
    std::uint32_t reserved;
};

/// What a process does over time (script.h).
struct ScriptState {
    std::uint64_t begun_ns;   // monotonic
    std::uint64_t period_ns;  // 0: it does not begin anew
    std::uint32_t phases;     // 0: it has no script
    std::uint32_t reserved;
    PhaseState phase[kMaxPhases];
};

/// How far a compute engine has come (engine.h). Whoever looks brings it up to the present.
struct EngineState {
    std::uint64_t clock_ns;       // monotonic: what ran is known up to here
    std::uint64_t slice_used_ns;  // of the time slice that is going on
    std::uint32_t turn;           // place in the process table whose slice it is
    std::uint32_t reserved;
};

struct GpuState {
    Text<24> model;
    Text<48> uuid;
    Text<24> serial;
    std::uint32_t group;  // which GpuRequest it came from: GPUs of one group share a board
    std::uint32_t index_in_group;
    std::uint32_t group_size;
    std::uint32_t minor;
    std::uint32_t pci_domain;
    std::uint32_t pci_bus;
    std::int32_t numa_node;  // -1: none
    std::uint32_t persistence;
    std::uint32_t compute_mode;
    std::uint32_t accounting;
    std::uint32_t ecc_pending;
    std::uint32_t power_limit_milliwatts;
    std::uint32_t graphics_clock_limit_mhz;  // locked clocks; 0: none
    std::uint32_t mig_current;
    std::uint32_t mig_pending;
    std::uint64_t ecc_corrected_volatile;
    std::uint64_t ecc_corrected_aggregate;
    std::uint64_t ecc_uncorrected_volatile;
    std::uint64_t ecc_uncorrected_aggregate;
    std::uint64_t remapped_uncorrected;
    std::uint64_t retired_uncorrected;
    std::uint64_t load_changed_us;  // since the epoch: the load has been as it is since then
    LoadSums sums;
    FaultState fault;
    EngineState engine;  // of the whole GPU
};

/// A compute instance of MIG. It exists while `incarnation` is not 0 and its GPU instance exists.
struct ComputeInstanceState {
    std::uint64_t incarnation;  // no other instance of the node ever has the same
    std::uint32_t profile_id;
    std::uint32_t start;         // compute slice of its GPU instance
    std::uint32_t slices;        // compute slices
    std::uint32_t device_index;  // as nvmlDeviceGetMigDeviceHandleByIndex counts
    Text<48> uuid;               // "MIG-..."
    EngineState engine;
};

/// A GPU instance of MIG; its place in the table is its id. It exists while `incarnation` is not 0.
struct GpuInstanceState {
    std::uint64_t incarnation;
    std::uint32_t profile_id;
    std::uint32_t start;  // memory slice
    std::uint32_t size;   // memory slices
    std::uint32_t reserved;
    std::uint64_t busy;  // as LoadSums
    std::uint64_t switching;
    ComputeInstanceState compute[kMaxComputeInstances];  // the place is the id
};

/// How one GPU is cut.
struct MigState {
    GpuInstanceState instances[kMaxGpuInstances];
};

/// How a process uses a GPU.
enum class ProcessKind : std::uint32_t {
    kCompute,    // by itself
    kMpsServer,  // for its clients
    kMpsClient,  // through an MPS server: shares the server's right to be there
    kGraphics,   // draws
};

/// A process that holds memory of a GPU. The entry exists while `pid` is not 0.
struct ProcessState {
    std::uint32_t pid;
    std::uint32_t gpu;
    std::uint64_t start_time;     // field 22 of /proc/<pid>/stat: a reused pid is another process
    std::uint64_t pid_namespace;  // inode; only lookers of the same one can tell whether it lives
    std::uint64_t memory_bytes;
    std::uint32_t sm_percent;    // of its instance where it runs on one
    std::uint32_t gpu_instance;  // kNoInstance: the whole GPU
    std::uint32_t compute_instance;
    std::uint32_t kind;      // ProcessKind
    std::uint64_t since_us;  // since the epoch
    std::uint64_t memory_peak_bytes;
    std::uint64_t capacity_bytes;  // what all processes there may hold together
    std::uint64_t image;  // differs after exec(), which ends what a process held; 0: not told

    [[nodiscard]] Instance where() const { return {gpu_instance, compute_instance}; }
};

/// Memory of one GPU that its processes hold: sums of the process table, so that an allocation need
/// not add it up. Counted anew when a writer was killed.
struct MemoryState {
    std::uint64_t used_bytes;
    std::uint64_t peak_bytes;  // highest used_bytes since the node was made or the peak was reset
    std::uint32_t processes;
    std::uint32_t reserved;
    std::uint64_t instance_used_bytes[kMaxGpuInstances];
};

/// A place in a process's work of which somebody wants to know when it was reached.
struct MarkState {
    std::uint64_t position_ns;
    std::uint64_t reached_ns;  // monotonic; 0: not yet
};

/// What a process has given to a compute engine and how much of it ran. Goes with the entry of the
/// same place in the process table.
struct WorkState {
    std::uint64_t submitted_ns;  // both only grow
    std::uint64_t executed_ns;   // never above submitted_ns
    std::uint64_t ran_until_ns;  // monotonic: when executed_ns was reached
    std::uint64_t window_start_ns;
    std::uint64_t window_executed_ns;
    std::uint64_t marks_begin;  // a ring: numbers of the first mark kept and of the next one
    std::uint64_t marks_end;
    MarkState marks[kMaxMarks];
};

/// Something the driver reports. It exists when next_event is past its sequence number.
struct EventState {
    std::uint64_t sequence;
    std::uint64_t type;  // NVML event bit
    std::uint64_t data;
    std::uint32_t gpu;
    std::uint32_t gpu_instance;  // kNoInstance: the whole GPU
    std::uint32_t compute_instance;
    std::uint32_t reserved;
};

struct State {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t size;  // sizeof(State)
    std::uint32_t gpu_count;
    std::int32_t cuda_version;
    std::uint32_t directory_made;   // destroy() removes the directory too
    std::uint32_t destroyed;        // every GPU answers as lost from now on
    std::uint32_t change;           // futex word: counts changes that a sleeper may wait for
    std::uint32_t driver_mismatch;  // the driver's library is of another version than its module
    std::uint32_t processors;  // of the node, for CPU affinities; 0: as many as the machine has
    std::uint32_t unused;
    std::uint64_t created_us;
    std::uint64_t clock_offset_us;  // from the monotonic clock to the driver's
    Text<32> driver_version;
    pthread_mutex_t mutex;  // shared between processes, robust
    std::uint64_t next_event;
    std::uint64_t next_incarnation;
    EventState events[kMaxEvents];
    GpuState gpus[kMaxGpus];
    MigState mig[kMaxGpus];
    ProcessState processes[kMaxProcesses];
    MemoryState memory[kMaxGpus];
    std::uint64_t time_slice_ns;  // of processes that share an engine
    std::uint64_t workers[kMaxGpus]
                         [kMaxProcesses / 64];  // who ever gave work to an engine of a GPU
    WorkState work[kMaxProcesses];
    SampleState samples[kMaxGpus];
    UseState uses[kMaxProcesses];
    ScriptState scripts[kMaxProcesses];
};

// NVML event bits that the node sends.
inline constexpr std::uint64_t kEventEccCorrected = 0x1;
inline constexpr std::uint64_t kEventEccUncorrected = 0x2;
inline constexpr std::uint64_t kEventXid = 0x8;
inline constexpr std::uint64_t kEventClock = 0x10;
inline constexpr std::uint64_t kEventMigChange = 0x100;

}  // namespace aliquot::sim
