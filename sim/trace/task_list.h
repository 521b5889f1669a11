// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "placement/request.h"
#include "sim/trace/node_list.h"

namespace aliquot::sim::trace {

/// One task (a pod, or a gang of equal pods).
struct Task {
    std::string name;
    placement::Request request;            // checked
    std::vector<std::string> models;       // of gpu_spec, as written; the request has them sorted
    std::uint32_t count = 1;               // of a gang: all are placed, or none
    std::int64_t creation = 0;             // seconds
    std::optional<std::int64_t> deletion;  // seconds; none: it stays
    std::optional<bool> movable;           // what the file says
    std::int32_t mig_milli = 0;            // compute of its MIG profile, where the nodes tell
    double weight = 1;                     // in a workload: how often it comes

    [[nodiscard]] std::int64_t gpu_milli() const {
        return std::int64_t{count} * (request.gpu_milli() + mig_milli);
    }
};

/// Tasks in file order: the row of a task is its index.
struct TaskList {
    std::vector<Task> tasks;
    bool has_times = false;        // columns creation_time and deletion_time are there
    bool asks_gpu_memory = false;  // some task asks for GPU memory

    [[nodiscard]] std::int64_t gpu_milli() const;
};

/// Reads a task list.
///
/// columns  name, cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU; above 1000 is 1000, without
///          GPU 0); optional: gpu_spec ("A10|T4"), creation_time, deletion_time, gpu_memory_mib,
///          mig_profile, selector and tolerations (k=v;k=v), anti_affinity, count, movable, weight
/// name     of the file, for messages
/// nodes    whose models and MIG profiles a task may name; nullptr: any
/// errors   kInvalidInput: the first thing that is wrong, as "file:line:column: what, expected";
///          nothing is kept of a list with an error
/// source   the columns of Alibaba's openb pod lists
Result<TaskList> read_task_list(std::string name, std::string_view text, const NodeList* nodes);

/// The tasks as typical_types() wants them: each with its weight times its gang size. Models are as
/// written: the published workload takes "A|B" and "B|A" for two kinds.
std::vector<std::pair<placement::Request, double>> workload_of(const TaskList& list);

}  // namespace aliquot::sim::trace
