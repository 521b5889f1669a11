// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "guard/simulated_gpu.h"

/// Two containers on one device in simulated time: one has the guard, the other is a neighbour that
/// keeps to what abi/turns.h says; between them the arbiter as the agent runs it.
namespace aliquot::guard::simulated {

/// What a container does: launches `depth` kernels and waits, again and again.
struct Load {
    double kernel_us = 1000;
    unsigned depth = 1;
    double cpu_us = 0;    // between a wait and the next launches
    double pause_us = 0;  // the same, asleep
};

struct Pair {
    std::string name;
    std::uint32_t weight = 30;  // of the one with the guard; the neighbour has the rest of 100
    Load own = {};
    Load neighbour = {};
    double wake_us = 40;       // from waking a thread until it runs
    double least_used = 0.95;  // of the device, by both
    double tolerance = 1.5;    // percentage points
    double seconds = 4;
};

struct Parts {
    double own = 0;  // of the time, that the device was busy for it
    double neighbour = 0;
    double p99_ms = 0;  // of its launches until the wait has returned, the one with the guard
};

/// In a process of its own: there is one guard per process. Fails the calling test where that does.
Parts parts_of(const Pair& pair);

}  // namespace aliquot::guard::simulated
