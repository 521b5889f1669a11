// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "base/result.h"
#include "k8s/node_selector.h"
#include "k8s/pod_affinity.h"
#include "k8s/taint.h"
#include "scheduling/decision.h"
#include "scheduling/gang_claim.h"
#include "scheduling/node_rules.h"

namespace aliquot::scheduling {

/// What was decided, on the pod; plan.h.
inline constexpr char kPlanAnnotation[] = "aliquot.dev/plan";
/// Of a pod that somebody moves: where it is to come back; moved_pods.h.
inline constexpr char kMoveAnnotation[] = "aliquot.dev/move";
/// Annotation: "false": the pod is never moved; "true": though a Job owns it, which counts an end as a failure.
inline constexpr char kMovableAnnotation[] = "aliquot.dev/movable";

/// What one container asks of one extended resource.
struct DeviceRequest {
    std::string container;
    std::string resource;
    unsigned count = 0;
    friend bool operator==(const DeviceRequest&, const DeviceRequest&) = default;
};

/// Where a volume of a pod lets it go.
struct VolumeRule {
    std::string claim;
    bool is_anywhere = true;
    std::vector<k8s::NodeSelectorTerm> nodes{};  // else one must match
    std::string why{};                           // of a node that none matches
};

/// A Pod as placement looks at it.
struct GpuPod {
    std::string uid;
    std::string name_space;
    std::string name;
    std::string node;            // spec.nodeName; empty: none yet
    bool is_gated = false;       // by us
    bool is_gated_else = false;  // by others, too: it cannot be bound yet
    bool is_over = false;        // it has ended
    bool has_succeeded = false;  // it has ended well
    bool is_leaving = false;     // it has a deletionTimestamp
    std::string owner;  // uid of the controller that makes it again when it is deleted; empty: none
    bool stays_put = false;  // its owner makes it again on the same node
    bool is_of_job = false;  // its owner is a Job
    enum class Movable : std::uint8_t { kUntold, kYes, kNo };
    Movable movable = Movable::kUntold;  // what its annotations say
    bool may_preempt = true;             // spec.preemptionPolicy
    bool spreads = false;                // topology spread or pod (anti-)affinity is its own affair
    bool is_apart = false;               // required anti-affinity by node: no two of a gang on one
    std::int32_t priority = 0;
    std::string created;        // RFC 3339
    std::string unschedulable;  // kube-scheduler's words; empty: it does not say so
    std::string unschedulable_since;
    std::string bound_at;  // RFC 3339; empty: it is not bound, or nobody says when
    std::string plan;      // the annotation; empty: none
    std::string move{};    // kMoveAnnotation; empty: none
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::vector<DeviceRequest>
        devices;  // of containers and sidecars; init containers lend from them
    k8s::NodeSelector where;
    std::vector<k8s::Toleration> tolerations;
    std::string rules;  // where it may go, as the Pod has it: equal texts mean the same
    k8s::Labels labels;
    k8s::PodAffinity affinity;
    std::vector<std::string> claims;        // of its volumes
    std::vector<VolumeRule> volumes{};      // what they mean; by who knows of volumes
    const NodeRules* neighbours = nullptr;  // what other pods mean; while a decision is made
    std::optional<Target> preferred{};      // that it gets if it can have exactly this
    GangClaim claim;
    std::string gang;  // id of the gang that it is placed with; empty: it is placed alone

    [[nodiscard]] std::string full_name() const { return name_space + "/" + name; }
    /// Whom a node is kept for.
    [[nodiscard]] const std::string& holder() const { return gang.empty() ? uid : gang; }
    [[nodiscard]] bool waits() const {
        return is_gated && !is_gated_else && !is_over && !is_leaving && node.empty();
    }
};

/// Reads any bytes; never throws.
/// errors   kInvalidInput: no JSON, or a Pod without uid
Result<GpuPod> read_gpu_pod(std::string_view json);

/// "4 nvidia.com/gpu, 1 example.com/nic".
std::string asked_text(const GpuPod& pod);

/// Pods of one shape get the same answer from the same books.
/// by_labels   labels matter, since other pods say what they want beside them
std::string shape_of(const GpuPod& pod, bool by_labels);

/// The order of the queue: higher priority, then older, then by name.
bool comes_before(const GpuPod& a, const GpuPod& b);

}  // namespace aliquot::scheduling
