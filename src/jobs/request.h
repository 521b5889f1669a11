// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// GPU jobs as values: what one asks for, the Kubernetes Job it becomes, its states, when it is tried again.
/// Pure: no clock, no files, no network.
namespace aliquot::jobs {

inline constexpr std::int64_t kDefaultDeadlineSeconds = 86'400;
inline constexpr std::int64_t kMostDeadlineSeconds = 30LL * 86'400;
inline constexpr std::int64_t kLeastIdleSeconds = 60;  // less is no sign of anything

/// A job as it is asked for. The same names are the keys of JSON and YAML (read()) and the parameters of clients.
struct Request {
    std::string task_id;  // whose work it is; with the rest it gives the job's name
    std::string name;     // of the job; empty: made by job_name()
    std::string image;    // of its container; a machine that runs processes takes none
    std::string container = "worker";
    std::string in_namespace;   // "namespace"; empty: where kubectl applies it
    std::string queue;          // empty: none
    std::string user;           // for the label
    std::int32_t priority = 0;  // of a machine
    std::string
        priority_class;  // of a cluster: a WorkloadPriorityClass with a queue, else a PriorityClass

    std::uint32_t gpu_count = 1;          // 1, 2, 4, 8; others with any_gpu_count
    bool any_gpu_count = false;           // up to 16
    std::string gpu_type;                 // "a100", as the catalogue knows it, "any"; empty: v100
    std::vector<std::string> gpu_prefer;  // "prefer" in this order; then gpu_type is not looked at
    std::string gpu_memory;               // of a share of one GPU, "8Gi"; empty: whole GPUs
    std::uint32_t gpu_compute = 0;        // of a share: at most so many percent; 0: no limit
    std::string gpu_resource = "nvidia.com/gpu";  // of a cluster

    std::string memory;  // limit, "16Gi"; empty: the type's
    std::string cpu;     // limit, "8000m"; empty: the type's
    std::string shm = "2Gi";
    std::string workspace;  // claim that is mounted at /workspace; empty: none
    std::string model_cache;
    std::string model_cache_path = "/models";
    std::string instance_type;         // of the node; empty: any
    std::string toleration = "Equal";  // of the taint nvidia.com/gpu: "Equal" true, or "Exists"
    std::string spot;  // "lifecycle", "node-type" or a label "key=value"; empty: none

    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> env;  // a later one of a name wins
    std::string workdir;

    std::int64_t deadline_seconds = kDefaultDeadlineSeconds;  // all tries together
    std::int64_t ttl_seconds = 3'600;                         // kept so long after its end
    std::uint32_t retries = 3;
    std::string restart_policy = "OnFailure";
    std::uint32_t array = 1;  // so many of it, told apart by an index
    std::uint32_t gang = 1;   // so many of it that start together or not at all
    std::vector<std::string>
        after;              // jobs of the same place that must succeed first: numbers, or names
    bool no_queue = false;  // starts at once, although a queue is named
    std::int64_t cpu_after_seconds =
        0;  // without a GPU for so long, it runs on the CPU; 0: it waits
    std::int64_t idle_after_seconds =
        0;  // of a machine: it is ended when its GPUs were idle for so long; 0: as that says

    friend bool operator==(const Request&, const Request&) = default;
};

/// What is wrong with a request, or only remarkable.
struct Problem {
    std::string field;  // "env.PATH", "gpu_count"
    std::string message;
    bool is_warning = false;
};

/// "gpu_count: 3 is not a count; expected 1, 2, 4 or 8; ..." of those that are no warnings.
std::string sentence_of(const std::vector<Problem>& problems);

}  // namespace aliquot::jobs
