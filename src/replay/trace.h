// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "queue/queue.h"

/// A queue of jobs played on simulated time under any policy: traces, the play itself, and what came of it. Pure.
namespace aliquot::replay {

using queue::Time;  // ms

inline constexpr std::size_t kMostJobs = 5'000'000;
inline constexpr unsigned kMostGpus = 100'000;  // of a cluster, and of a job

struct TraceJob {
    Time submit = 0;  // since the first of the trace
    Time duration = 0;
    unsigned gpus = 1;
    std::int32_t milli = placement::kWholeGpu;  // of each; less: a share, of one GPU
    std::int32_t priority = 0;
    std::string user;
    std::string queue;
    std::string name;
};

struct Trace {
    std::vector<TraceJob> jobs;  // by submission
    std::size_t skipped = 0;     // lines without GPUs, run time or known speed
};

/// Our own format: CSV with a heading. Columns in any order, others are passed over:
///   submit    s, also `arrival_s`, `creation_time`          duration  s, also `runtime`; else `deletion_time` minus
///   gpus      also `num_gpu`; 0.5 is a share                          `scheduled_time`
///   gpu_milli of each GPU                                   user, queue (also `vc`), name, priority
/// So Alibaba's openb task lists can be read as they are.
/// errors   kInvalidInput: "FILE:7: duration is -3, expected a number of seconds, 0 or more"
Result<Trace> read_csv(const std::string& file, std::string_view text);

/// Gavel's traces (scheduler/traces/msr/.../*.trace of github.com/stanford-futuredata/gavel), whose jobs have
/// steps: with simulation_throughputs.json of the same project, as run alone on a V100. Jobs without a speed there
/// are skipped.
Result<Trace> read_gavel(const std::string& file, std::string_view text,
                         const std::string& speeds_file, std::string_view speeds);

/// Microsoft's Philly trace: cluster_job_log of github.com/msr-fiddle/philly-traces. All attempts of a job count as
/// one run; jobs that never ran are skipped.
Result<Trace> read_philly(const std::string& file, std::string_view text);

/// What a made-up trace is made of. Sizes: 70 % of jobs want 1 GPU, 8 % 2, 10 % 4, 10 % 8, 2 % 16. Run times
/// are log-normal about a median of each job name (of 12 min over all names), users by Zipf's law, arrivals of a
/// Poisson process that is busier by day.
struct Synthetic {
    std::size_t jobs = 5'000;
    unsigned gpus = 64;  // that `load` is of
    double load = 0.8;   // GPU time wanted by GPU time there is
    unsigned users = 30;
    std::uint64_t seed = 1;
};
/// errors   kInvalidInput: jobs, load or users out of range
Result<Trace> synthetic(const Synthetic& wanted);

/// Sorted by submission, beginning at 0. errors: kInvalidInput: no job, or too many
Result<Trace> in_order(const std::string& file, Trace trace);

}  // namespace aliquot::replay
