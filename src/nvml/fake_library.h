// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

/// A very small libnvidia-ml.so.1 for the tests of this module: it answers what it is told to. Two
/// builds: one with today's symbol names, one with those of the first NVML and little else. (How
/// GPUs behave is the business of sim/, not of this.)
namespace aliquot::nvml::fake {

inline constexpr unsigned kGpus = 3;

struct Gpu {
    std::atomic<int> error = 0;         // of every call on it
    std::atomic<int> handle_error = 0;  // of getting its handle by index or uuid
    std::atomic<std::uint64_t> memory_used = 0;
};

struct Control {
    std::atomic<int> init_error = 0;
    std::atomic<int> init_errors_left = -1;  // how many more init calls fail; -1: all
    std::atomic<int> inits = 0;
    std::atomic<int> initialised = 0;
    std::atomic<unsigned> count = kGpus;
    std::atomic<bool> hang = false;  // memory calls wait until it is false
    std::atomic<int> hanging = 0;    // calls that wait
    std::atomic<int> waits = 0;      // event waits that were begun
    std::atomic<unsigned> processes = 2;
    std::atomic<std::uint64_t> xid = 0;  // reported once
    std::atomic<unsigned> xid_gpu = 0;
    std::array<Gpu, kGpus> gpus;
};

using GetControl = Control* (*)();

}  // namespace aliquot::nvml::fake
