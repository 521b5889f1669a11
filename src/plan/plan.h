// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"
#include "plan/pool.h"
#include "plan/workload.h"

namespace aliquot::plan {

/// A mechanism of sharing, or what is done without one.
enum class Mode : std::uint8_t {
    kExclusive,    // a GPU of its own
    kTimeSlicing,  // turns, without limits
    kFraction,     // turns, with a memory limit and a compute share for each: grant's kGuarded
    kMps,          // kernels side by side, equal parts
    kMig,          // cut by the hardware
    kSerial,       // one after the other
    kCpu,          // no GPU
};

/// grant::plan_text of a mechanism; "serial", "cpu".
std::string_view to_text(Mode mode);

/// What the GPU itself does: a fraction is time-slicing with limits.
std::string_view technique_of(Mode mode);

/// What is asked.
struct Request {
    std::vector<GpuPool> pools;
    std::vector<Workload> workloads;  // empty: only the card itself is asked about
    unsigned services = 0;            // with no workloads: that many equal ones; 0: as many as suit
    bool guard = true;                // limits can be enforced
    bool no_reboot = false;           // no drain, no GPU reset
    double usd_per_kwh = 0;           // for own hardware; 0: not reckoned
};

/// What one replica gets.
struct Share {
    std::string workload;
    unsigned replica = 0;
    Mode mode = Mode::kExclusive;
    double need_mib = 0;      // 0: not known
    double memory_mib = 0;    // what it may use
    double headroom_mib = 0;  // memory_mib - need_mib
    unsigned compute_percent = 100;
    int gpu = -1;  // index within all GPUs of the request; -1: none
    std::string pool;
    std::string resource;  // "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"; empty: none
    std::string profile;   // of MIG
    unsigned slot = 0;     // of MIG: first memory slice
    std::string risk;
};

/// A technique that lost, and the rule that beat it.
struct Rejected {
    std::string rule;     // "PLN031"
    std::string mode;     // "mps"
    std::string subject;  // a workload; empty: the whole pool
    std::string reason;
};

/// Why a technique won.
struct Reason {
    std::string rule;
    std::string text;
};

/// What runs on one GPU.
struct GpuUse {
    int gpu = 0;
    std::string pool;
    std::string model;
    Mode mode = Mode::kExclusive;
    unsigned replicas = 1;  // shares that the GPU is divided into
    double share_mib = 0;   // of one share
    double memory_mib = 0;
    double reserve_mib = 0;
    double needed_mib = 0;
    std::vector<std::size_t> shares;  // indices into Plan::shares
};

/// How fast one workload will be.
struct Speed {
    std::string workload;
    std::string work;     // "10 s of speech"
    std::string cpu;      // "3 to 5 s"
    std::string gpu;      // "0.5 to 1 s"
    double alone = 0;     // times as fast as the CPU; 0: not known
    double all_busy = 0;  // when everything on its GPU works
    unsigned sharers = 1;
    double part_of_gpu = 1;  // of its speed alone, when all are busy
    std::string formula;
    std::string verdict;
};

struct Step {
    std::string title;
    std::vector<std::string> commands;
    std::string check;
    std::vector<std::string> rollback;
};

struct File {
    std::string name;  // "sharing.yaml"
    std::string purpose;
    std::string text;
    std::string node = {};  // of which node, where nodes differ; as a key of a ConfigMap
    std::string data = {};  // the configuration that a ConfigMap in `text` holds
};

struct Numbers {
    unsigned gpus = 0;
    unsigned gpus_used = 0;
    unsigned gpus_exclusive = 0;  // when every replica had its own
    int gpus_saved = 0;
    double packing_percent = 0;  // of the memory of the used GPUs that is needed
    double slack_mib = 0;
    std::vector<std::string> worst_case;  // who runs out of memory if one takes too much
    std::optional<double> usd_per_month_before;
    std::optional<double> usd_per_month_after;
    std::string price_source;
    double kwh_per_month = 0;  // at full power
    std::string disruption;
};

struct Confidence {
    std::string input;
    Certainty certainty = Certainty::kGuessed;
    std::string source;
};

struct Plan {
    std::string recommendation;    // one line
    std::string technique;         // "time-slicing", "mps", "mig", "exclusive", "serial", "cpu"
    Mode mode = Mode::kExclusive;  // of the shared GPUs, or of the first
    unsigned replicas = 1;         // of each shared GPU
    double per_pod_gib = 0;        // memory of one share, in the unit GPUs are sold by
    double reserve_gib = 0;
    double usable_gib = 0;
    std::string formula;
    std::vector<Reason> reasons;
    std::vector<Rejected> rejected;
    std::vector<Share> shares;
    std::vector<GpuUse> gpus;
    std::vector<std::string> unplaced;  // replicas that no GPU is left for
    unsigned gpus_missing = 0;
    bool node_too_small = false;     // the pods of one node together ask for more than it has
    bool never_schedulable = false;  // a pod asks for more CPU or memory than its machine has
    std::vector<Speed> speed;
    std::vector<Step> migration;
    std::vector<File> files;
    std::vector<std::string>
        objections;  // of aliquot-agent's own code against a file: it is left out
    std::vector<std::string> environment;  // "name=value: for whom"
    std::vector<std::string> warnings;
    Numbers numbers;
    std::vector<Confidence> confidence;
};

/// Decides everything. Never fails: what has no place is told in `unplaced`.
/// request   at least one pool; at most 4096 GPUs and as many replicas are looked at
Plan make_plan(const Request& request);

/// The card alone, without workloads: usable = memory - 1; replicas = floor_pow2(usable / 2.5);
/// memory of each = floor to 0.5 of usable / replicas; MPS from 8 replicas on Volta and newer,
/// else time-slicing.
struct CardPlan {
    double memory_gib = 0;
    double reserve_gib = 1;
    double usable_gib = 0;
    unsigned replicas = 1;
    double per_pod_gib = 0;
    Mode mode = Mode::kFraction;
    std::string formula;
};

/// services   0: as many as suit
CardPlan plan_card(const catalog::GpuModel& model, unsigned services, bool guard);

/// ResourceClaimTemplates, one for each workload: what its pods ask for where aliquot-agent serves claims
/// (consumable mode; MIG devices as they are cut). Empty: nothing needs a GPU.
std::string claim_templates(const Plan& plan);

/// The answer as a value, for JSON and YAML.
document::Value to_node(const Plan& plan, const Request& request);

/// The answer for people.
std::string to_text(const Plan& plan, const Request& request);

}  // namespace aliquot::plan
