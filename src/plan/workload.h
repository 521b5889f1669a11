// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "sizing/memory.h"
#include "sizing/model.h"

/// How to share GPUs: which technique, which sizes, which files, and why not the others. Pure.
namespace aliquot::plan {

using sizing::Certainty;

enum class Kind : std::uint8_t { kInference, kTraining, kNotebook, kCi, kBatch, kVideo };
enum class Isolation : std::uint8_t { kNone, kMemory, kFault, kSecurity };

std::string_view to_text(Kind kind);
std::string_view to_text(Isolation isolation);

/// A way in which a model takes less of a single GPU.
struct Less {
    std::string how;  // "in int8"
    sizing::Load load;
    double gib = 0;
};

/// Something that wants a GPU or a part of one.
struct Workload {
    std::string name;
    Kind kind = Kind::kInference;
    unsigned replicas = 1;
    unsigned gpus = 1;                 // of one replica
    double memory_gib = 0;             // peak of one replica on each GPU; 0: not known
    std::optional<sizing::Load> load;  // of a model whose memory was reckoned
    bool format_told = false;          // its number format is one that somebody asked for
    std::string part_problem;          // why so many GPUs cannot share the model; empty: they can
    /// Of a model that can be parted and whose GPUs nobody told: how many, and the peak on each.
    std::vector<std::pair<unsigned, double>> parted;
    std::vector<Less> less;  // the most bits first
    Certainty memory_certainty = Certainty::kGuessed;
    std::string memory_reason;           // where the number comes from
    std::optional<double> duty_percent;  // of a whole GPU's time
    Certainty duty_certainty = Certainty::kGuessed;
    double latency_ms = 0;  // 95th percentile that must hold; 0: none
    bool bursty = false;
    bool preemptible = false;
    bool never_together = false;  // with other such workloads; one after the other will do
    std::string tenant;           // workloads of different tenants do not trust each other
    Isolation isolation = Isolation::kNone;
    std::vector<std::string> features;  // "nccl", "p2p", "ipc", "profiling", "graphs", "nvenc"
    double cpu = 0;                     // host CPUs one replica asks for; 0: not known
    double host_memory_mib = 0;
    double cpu_seconds = 0;      // one request on CPU; 0: not known
    double gpu_seconds = 0;      // one request on a GPU of its own
    double enough_seconds = 0;   // a request may take this long; 0: not said
    std::string namespace_name;  // of its manifest
    std::string asked_resource;  // "nvidia.com/gpu" that its manifest asks for; empty: none
    unsigned asked_count = 0;
    document::Mark mark;

    [[nodiscard]] bool uses(std::string_view feature) const;
};

/// Reads a list of workloads (YAML or JSON, at the top or under `workloads`).
/// errors   kInvalidInput: "file:line:column: what was found, what was expected"
Result<std::vector<Workload>> read_workloads(std::string_view file, std::string_view text);

/// The workloads of Kubernetes manifests: what asks for nvidia.com/gpu, or whose image is known to
/// use one. Documents that are none are passed over.
/// errors   kInvalidInput: no YAML
Result<std::vector<Workload>> workloads_of_manifests(std::string_view file, std::string_view text);

/// The name that a Kubernetes object of this workload has: lower case letters, digits and '-'. Nothing
/// in it means anything to a shell.
std::string object_name(std::string_view name);

/// A load in the usual number format: inference, or with `training` "full", "lora" or "qlora" that.
/// errors   kUnsupported: what the model takes in training is not known (vision, speech, diffusion)
Result<sizing::Load> training_load(const sizing::ModelShape& shape, std::string_view training);

/// Memory of a workload that runs a model; over how many GPUs it may be parted, if it may.
/// part   the number of GPUs was not told
/// errors those of sizing::estimate_memory
Result<Done> fill_memory_of_model(Workload& workload, const sizing::ModelShape& shape,
                                  const sizing::Load& load, bool part);

/// Fills what a kind lets guess: duty and burstiness.
void fill_guesses(Workload& workload);

}  // namespace aliquot::plan
