// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "placement/engine.h"
#include "sim/trace/replay.h"

namespace aliquot::sim::trace {

enum class Lifetime : std::uint8_t {
    kExponential,  // of each task, mean 1, whatever the task is
    kTrace,        // deletion_time - creation_time of the row, at least a second, at most a day
};

/// Tasks that come and go: arrivals by a Poisson process, each a random row of the task list.
struct ChurnOptions {
    double load = 0.85;  // GPU compute offered, as a share of the capacity; above 0
    Lifetime lifetime = Lifetime::kExponential;
    std::size_t tasks = 60'000;
    std::uint64_t seed = 1;
    bool wait = false;  // what does not fit waits, and takes the first place that comes free
    placement::Options engine;
    /// Called now and then, at least once each 256 arrivals.
    std::function<void(std::size_t done, std::size_t all)> progress;
};

/// By what a task asks for.
enum class TaskSize : std::uint8_t { kCpu, kShare, kOne, kFew, kEight };  // few: 2 to 7 GPUs
inline constexpr std::size_t kTaskSizes = 5;
std::string_view to_text(TaskSize size);  // "cpu", "share", "1", "2-7", "8+"

struct SizeOutcome {
    std::int64_t tasks = 0;
    std::int64_t refused = 0;   // without wait
    std::int64_t unplaced = 0;  // with wait: still waiting when the last one had come
    double mean_wait = 0;       // with wait; in mean lifetimes of all tasks
    double p50_wait = 0;
    double p99_wait = 0;
};

struct ChurnPoint {
    double time = 0;        // in mean lifetimes
    double allocated = 0;   // GPU compute given out, as a share of the capacity
    double free_nodes = 0;  // wholly free nodes, as a share of the nodes with GPUs
};

/// What came of it. Shares are of the capacity, 0 to 1.
struct ChurnOutcome {
    placement::Policy policy = placement::Policy::kAliquot;
    double offered = 0;  // GPU time of all tasks that came
    double carried = 0;  // GPU time of those that were placed; as long as they waited is not in it
    std::array<SizeOutcome, kTaskSizes> sizes{};
    double free_nodes = 0;  // wholly free nodes with GPUs, mean over the second half
    double fragmentation =
        0;  // free compute that the workload cannot use, mean over the second half
    std::vector<ChurnPoint> curve;  // a point each 1/500 of the arrivals
    double seconds = 0;             // of the decisions alone
    double worst_step_ms = 0;       // of one arrival with what had ended before it
};

/// Plays it. The nodes are equal in the order of scenario.order.ranks; its arrivals are not used.
/// errors   kInvalidInput: what the engine refuses of nodes or tasks; a list without GPU tasks, or
///          without times where lifetimes are the trace's
Result<ChurnOutcome> run_churn(const Scenario& scenario, const ChurnOptions& options);

}  // namespace aliquot::sim::trace
