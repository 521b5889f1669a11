// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "queue/queue.h"
#include "replay/trace.h"

namespace aliquot::replay {

/// What the planner knows of run times.
enum class Estimates : std::uint8_t {
    kPolicy,   // exact for sjf and srtf, which are defined so; from history for the others
    kExact,    // each job's own run time
    kHistory,  // what ended before
    kPadded,   // their owners say the run time times a factor from 1 to `padding`
    kLimits,   // the same as time limits, as people give --time, beside what ended before
};

struct Setup {
    unsigned gpus = 64;
    unsigned per_node = 8;  // 1..16; 0: one pool, a job's GPUs may be anywhere
    queue::Options options;
    std::vector<queue::Queue> queues;
    Estimates estimates = Estimates::kPolicy;
    double padding = 5;
    std::uint64_t seed = 1;
    std::size_t forecasts =
        2'000;  // jobs whose forecasts are compared, spread over the trace; 0: none
};

/// What a job was told while it waited.
struct Told {
    Time at = 0;
    Time p50 = 0;  // the start, not the wait
    Time p90 = 0;
};

struct JobRun {
    Time submit = 0;
    Time start = -1;  // its first; -1: never, it is larger than the cluster or its quota
    Time end = -1;
    Time run = 0;            // as the trace says
    std::int64_t milli = 0;  // of all its GPUs
    std::vector<Told>
        told;  // its start, from its submission on: anew when it has waited a quarter longer
    unsigned preempted = 0;
};

struct Played {
    std::vector<JobRun> jobs;  // as in the trace
    std::size_t too_large = 0;
    std::uint64_t plans = 0;  // times the planner was asked
    Time makespan = 0;        // from the first submission to the last end
    Time busy = 0;            // time in which a job ran or waited
    std::int64_t capacity_milli = 0;
};

/// Plays a trace. errors: kInvalidInput: a setup out of range
Result<Played> play(const Trace& trace, const Setup& setup);

}  // namespace aliquot::replay
