// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

/// A very small libnvidia-ml.so.1 for the tests of this module: it answers what it is told to. Two
/// builds: one with today's symbol names, one with those of the first NVML and little else. (How
/// GPUs behave is the business of sim/, not of this, and the contract suites hold this module against it.) What sim/nvml
/// cannot be: a driver that lacks symbols or names of MIG profiles, fails one call on one GPU, or hangs in it.
namespace aliquot::nvml::fake {

inline constexpr unsigned kGpus = 3;

struct Gpu {
    std::atomic<int> error = 0;         // of every call on it
    std::atomic<int> handle_error = 0;  // of getting its handle by index or uuid
    std::atomic<std::uint64_t> memory_used = 0;
};

/// The one GPU that can do MIG.
inline constexpr unsigned kMigGpu = 2;

struct ComputeInstance {
    bool exists = false;
    unsigned slices = 0;
    std::uint32_t process = 0;  // runs on it; 0: none
};

struct GpuInstance {
    bool exists = false;
    unsigned profile_id = 0;
    unsigned start = 0;
    unsigned size = 0;
    std::array<ComputeInstance, 3> compute;
};

/// MIG of kMigGpu: instances by id. Changed by the calls and by the test, never at the same time.
struct Mig {
    unsigned current = 1;
    unsigned pending = 1;
    int set_error = 0;   // of the call that sets the mode
    int activation = 0;  // what it says of the mode; not 0: pending until a reset
    int destroy_error = 0;
    bool instances_hidden = false;  // may not be looked at: no permission
    bool names = true;              // this driver names its profiles
    bool a30 = false;               // is an A30, with its wrong answers
    std::array<GpuInstance, 4> instances;
};

struct Control {
    std::atomic<int> init_error = 0;
    std::atomic<int> init_errors_left = -1;  // how many more init calls fail; -1: all
    std::atomic<int> inits = 0;
    std::atomic<int> initialised = 0;
    std::atomic<unsigned> count = kGpus;
    std::atomic<bool> hang = false;      // memory calls wait until it is false
    std::atomic<int> hang_gpu = -1;      // whose; -1: everybody's
    std::atomic<bool> hang_all = false;  // every call waits as soon as one does: a global lock
    std::atomic<int> hanging = 0;        // calls that wait
    std::atomic<int> waits = 0;          // event waits that were begun
    std::atomic<unsigned> processes = 2;
    std::atomic<std::uint64_t> xid = 0;  // reported once
    std::atomic<unsigned> xid_gpu = 0;
    std::atomic<unsigned> xid_instance = 0xFFFFFFFF;  // GPU and compute instance
    std::atomic<std::uint64_t> event_type = 0x8;      // of the next event
    std::atomic<unsigned> virtualization = 0;
    std::atomic<bool> linked = true;                // GPU 0 and 1 by NVLink
    std::atomic<int> graphics_gpu = -1;             // which GPU draws; -1: all but kMigGpu
    std::atomic<std::uint64_t> memory_limit = 0;    // of the last group
    std::atomic<bool> memory_limit_is_cut = false;  // it keeps less than it is told
    Mig mig;
    std::array<Gpu, kGpus> gpus;
};

using GetControl = Control* (*)();

}  // namespace aliquot::nvml::fake
