// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// What the guard inside a container and whoever set it up (agent, `aliquot run`) share: plain data
/// in mapped files. Turns on a GPU have pages of their own (turns.h).
///
///   config   written by the agent, read-only for the container: limits, and what the driver says
///   ledger   written by the guard in every process of the container: what they use
///
/// The ledger is in the tenant's hands: nobody else may believe it. The agent reads the ledger with pread() and checks every figure; it never maps it, since the container can
/// cut the file short.
///
/// Little-endian, fixed offsets, one layout per kRegionAbi. Bump rule: any change of an offset, a
/// size or a meaning is a new kRegionAbi; only magic, abi and size, and Ledger::region stay where they
/// are for ever, so that an agent can hand on the ledger of another version. A guard refuses a file of another one (its own directory
/// always holds the right guard: versions lie side by side).
namespace aliquot::abi {

inline constexpr std::uint32_t kRegionAbi = 2;
inline constexpr std::uint64_t kConfigMagic = 0x47'46'43'51'49'4c'41'00;  // "\0ALIQCFG"
inline constexpr std::uint64_t kLedgerMagic = 0x52'47'44'51'49'4c'41'00;  // "\0ALIQDGR"

inline constexpr unsigned kRegionDevices = 16;  // GPUs or MIG devices of one container
inline constexpr unsigned kRegionSlots = 1024;  // processes of one container

/// Where the files are in a container. The environment (ALIQUOT_GUARD_*) counts only where there is
/// no config.
inline constexpr char kGuardDirectory[] = "/run/aliquot/guard";
inline constexpr char kConfigFile[] = "config";
inline constexpr char kLedgerFile[] = "ledger";
inline constexpr char kNodeFile[] = "node";  // the socket that hands over the pages of turns.h

/// A GPU's or MIG device's UUID as 16 bytes, as cuDeviceGetUuid_v2 gives it; all zero: none.
struct DeviceUuid {
    std::uint8_t bytes[16];
};

// ---- config ---------------------------------------------------------------------------------

enum ConfigFlag : std::uint32_t {
    kFailOpen = 1,  // a guard that cannot do its work lets the program run without limits
};

enum LimitFlag : std::uint32_t {
    kKernelLimit = 1,  // the driver's kernel module holds the memory limit; the guard only shows it
};

/// Limits of one device. They may change at any time; each field is read by itself.
struct DeviceLimits {
    DeviceUuid uuid;
    std::atomic<std::uint64_t> memory_bytes;   // 0: no limit
    std::atomic<std::uint64_t> context_bytes;  // assumed for a context until the driver's figure
    std::atomic<std::uint32_t> cap_ppm;  // most GPU time, parts per million of one GPU; 0: no cap
    std::atomic<std::uint32_t> weight;   // share under contention, any unit; 0: none
    std::atomic<std::uint32_t> flags;    // LimitFlag
    std::uint32_t reserved[5];
};
static_assert(sizeof(DeviceLimits) == 64);

/// What the driver says of one process, at the place of its slot in the ledger.
struct ProcessTruth {
    /// Slot::owner that this is about. 0 while the agent writes the rest.
    std::atomic<std::uint64_t> owner;
    std::atomic<std::int32_t> host_pid;  // 0: not known
    std::uint32_t reserved;
    /// By place in Config::devices: what the process holds of the device besides what the guard
    /// counts; kNotMeasured: no figure yet.
    std::atomic<std::uint64_t> overhead_bytes[kRegionDevices];
};
inline constexpr std::uint64_t kNotMeasured = ~std::uint64_t{0};

struct Config {
    std::uint64_t magic;
    std::uint32_t abi;
    std::uint32_t size;       // sizeof(Config)
    std::uint32_t flags;      // ConfigFlag
    std::uint32_t log_level;  // 0 off, 1 error, 2 info, 3 debug
    std::uint32_t device_count;
    std::uint32_t reserved;
    char container[128];  // "namespace/pod/container", for messages; ends with a zero
    /// CLOCK_MONOTONIC of the agent's last look; 0: nobody measures, the guard asks NVML itself.
    std::atomic<std::uint64_t> heartbeat_ns;
    /// Counts changes of `truth`, so that a guard knows when to look.
    std::atomic<std::uint64_t> truth_changes;
    DeviceLimits devices[kRegionDevices];
    ProcessTruth truth[kRegionSlots];
};

// ---- ledger ---------------------------------------------------------------------------------

/// Something that went on without the limit it should have had. Bits, never taken back.
enum Remark : std::uint32_t {
    kRemarkNoArbiter = 1,      // a weight is set and nobody keeps turns
    kRemarkWaitedTooLong = 2,  // a launch went through although it was not its turn
    kRemarkUnknownEntry = 4,   // the driver gave out an entry point for memory that we do not know
    kRemarkNoTiming = 8,       // the driver gave no times for events
    kRemarkLockTimeout = 16,   // a lock was not given up in time
    kRemarkTableFull = 32,     // allocations were passed on uncounted: no memory for a record
    kRemarkOverLimit = 64,     // the overhead grew beyond the limit
    kRemarkNoTruth = 128,      // NVML has no figures per process here
    kRemarkPersistentKernel = 256,  // work did not end within the longest wait
};

/// A figure that only the holder of Ledger::lock changes, by compare-and-swap, anybody reads: its low
/// 48 bits, and above them the generation of the lock at its last change. A holder that is stopped
/// loses the lock after a while: whoever takes it gives the lock and all these words the next
/// generation, so that no store of the old holder comes through when it goes on.
struct Fenced {
    std::atomic<std::uint64_t> word;

    [[nodiscard]] std::uint64_t load(std::memory_order order = std::memory_order_seq_cst) const;
};
inline constexpr unsigned kFencedShift = 48;
inline constexpr std::uint64_t kMostFenced = (std::uint64_t{1} << kFencedShift) - 1;

inline std::uint64_t Fenced::load(std::memory_order order) const {
    return word.load(order) & kMostFenced;
}

/// Totals of one device.
struct alignas(64) DeviceLedger {
    DeviceUuid uuid;    // its halves change by compare-and-swap
    Fenced used_bytes;  // the sum over living slots of tracked and overhead
    std::atomic<std::uint64_t> peak_bytes;
    std::atomic<std::uint64_t> denied;  // requests answered with out of memory
    std::atomic<std::uint64_t> denied_bytes;
    std::atomic<std::uint32_t> remarks;  // Remark
    std::uint32_t reserved0;
    // Compute, for all processes together.
    alignas(
        64) std::atomic<std::int64_t> tokens_ns;  // GPU time that may be used now; below 0: debt
    std::atomic<std::uint64_t> refilled_ns;       // CLOCK_MONOTONIC of the last refill
    std::atomic<std::uint64_t> gpu_ns;            // GPU time used, where it is measured
    std::atomic<std::uint64_t> throttled_ns;      // time that launches were held back
    std::atomic<std::uint64_t> launches;          // counted at checkpoints
    std::atomic<std::uint64_t> overruns;          // launches let through at the longest wait
    std::atomic<std::uint64_t> busy_run;          // BusyRun of guard/busy_time.h; 0: none
    std::uint64_t reserved1;
};
static_assert(sizeof(DeviceLedger) == 128);

/// What one process uses of one device.
struct SlotDevice {
    Fenced tracked_bytes;                 // what it allocated through the driver
    Fenced managed_bytes;                 // of these: managed memory, maybe not on the device
    Fenced overhead_bytes;                // the rest: estimate, or the driver's figure
    std::atomic<std::uint32_t> changes;   // counts changes of the above by the process itself
    std::atomic<std::uint32_t> contexts;  // contexts that are alive
};
static_assert(sizeof(SlotDevice) == 32);

/// One process. A slot belongs to the process that holds the write lock (F_OFD_SETLK) on byte
/// kSlotLockOffset + index of the file, which the kernel drops with the process; so whoever gets
/// the lock knows that the slot is free, in whatever pid namespace. A slot never moves.
struct alignas(64) Slot {
    std::atomic<std::uint64_t> owner;  // pid (as the process sees it) << 32 | number; 0: free
    std::uint64_t start_time;          // field 22 of /proc/self/stat; 0: not known
    std::uint64_t pid_namespace;       // inode; 0: not known
    /// Config::truth_changes from which on the agent's figures replace this process' estimates: a
    /// context made in between is in them.
    std::atomic<std::uint64_t> truth_from;
    std::uint64_t reserved[4];
    SlotDevice devices[kRegionDevices];  // by place in Ledger::devices
};
static_assert(sizeof(Slot) == 576);

struct Ledger {
    std::uint64_t magic;
    std::uint32_t abi;
    std::uint32_t size;    // sizeof(Ledger)
    std::uint64_t region;  // random, not 0: names this container
    /// In kLockHolder the slot index + 1 of the process inside, 0: free; above it, in kLockGeneration,
    /// how often it was taken from somebody (Fenced); kLockWaiters. A futex.
    std::atomic<std::uint32_t> lock;
    std::atomic<std::uint32_t> recoveries;  // times a process died or was stopped inside
    Fenced slots_high;                      // no slot from here on was ever used
    std::uint64_t reserved[11];
    DeviceLedger devices[kRegionDevices];  // claimed by uuid under the lock, then for ever
    Slot slots[kRegionSlots];
};
inline constexpr std::uint32_t kLockHolder = 0xfff;
inline constexpr unsigned kLockShift = 12;
inline constexpr std::uint32_t kLockGeneration = 0xffffU << kLockShift;
inline constexpr std::uint32_t kLockWaiters = 0x8000'0000;
static_assert(kRegionSlots < kLockHolder);
/// Lock bytes lie far behind the content, where no read or write ever goes.
inline constexpr std::uint64_t kSlotLockOffset = std::uint64_t{1} << 40;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace aliquot::abi
