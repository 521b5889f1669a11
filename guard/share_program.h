// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guard/simulated_gpu.h"

/// Programs in simulated time whose share of the device is measured.
namespace aliquot::guard::simulated {

enum class Wait : std::uint8_t { kNone, kOwn, kAll, kPoll };

/// A program: each thread launches `depth` kernels and then waits, again and again.
struct Program {
    std::string name;
    double cap = 25;
    unsigned threads = 1;
    unsigned streams = 1;
    double kernel_us = 1000;
    std::vector<double> mixture_us;  // instead, one of them by chance
    unsigned depth = 1;
    double cpu_us = 0;    // between launches
    double pause_us = 0;  // the same, asleep
    double hold_us = 0;   // in the stream, behind each kernel: nothing that the device does
    Wait wait = Wait::kOwn;
    bool default_stream = false;
    bool per_thread = false;
    bool blocking = false;
    unsigned slots = 1;  // of the device, that a kernel takes
    unsigned width = 1;  // slots of the device
    unsigned stalls_ppm = 0;
    double slice_us = 0;
    double stall_us = 2000;
    double tolerance = 1;  // percentage points
    double together = 0;   // at least so much of what runs at once without a cap does so with one
    double seconds = 3;
    DriverCosts costs = {};
};

struct Outcome {
    double busy = 0;     // part of the time in which the device ran
    double work = 0;     // the same, work that runs at once counted as often
    double charged = 0;  // part of what the device was busy for
};

/// What a program gets of the device, with the guard or without, in a process of its own: there is one
/// guard per process. Fails the calling test where that process does.
Outcome outcome_of(const Program& program, bool guarded);

}  // namespace aliquot::guard::simulated
