// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/amounts.h"
#include "k8s/label_selector.h"
#include "k8s/taint.h"
#include "pools/schedule.h"

namespace aliquot::pools {

/// Who makes and removes the nodes.
enum class Engine : std::uint8_t {
    kKarpenter,  // a NodePool that Karpenter fills for pending pods; the floor by placeholder pods
    kKarpenterStatic,    // a NodePool with replicas (feature gate StaticCapacity)
    kClusterAutoscaler,  // node groups of a cloud; the floor by placeholder pods
    kExternal,           // Cluster Autoscaler with our externalgrpc provider
    kPlaceholder,        // any autoscaler: only placeholder pods
};
std::string_view to_text(Engine engine);

enum class CapacityType : std::uint8_t { kSpot, kOnDemand };
std::string_view to_text(CapacityType type);  // "spot", "on-demand", as Karpenter's label has it

/// What must be well before a node counts as capacity.
enum class Gate : std::uint8_t { kDriver, kDevicePlugin, kToolkit };
std::string_view to_text(Gate gate);

/// A number by hand that stands above schedule, queue and warm nodes.
struct Hold {
    unsigned replicas = 0;
    std::optional<Instant> until;  // empty: until it is taken away
    friend bool operator==(const Hold&, const Hold&) = default;
};

/// One node as it will be.
struct NodeShape {
    k8s::Amounts amounts;  // allocatable: cpu, memory, devices or shares
    k8s::Labels labels;
    std::vector<k8s::Taint> taints;
};

/// A pool as its file says.
struct Pool {
    std::string name;
    unsigned min = 0;
    unsigned max = 0;
    std::optional<unsigned> replicas;  // a floor by hand: kubectl scale
    std::optional<Hold> hold;
    std::optional<unsigned> most_gpus;  // of all nodes together
    std::string environment;            // "production" has no spot
    Engine engine = Engine::kKarpenter;
    std::string node_class;              // Karpenter's nodeClassRef, "EC2NodeClass/gpu"
    std::vector<std::string> instances;  // types, the first one preferred
    std::vector<CapacityType> capacity{CapacityType::kOnDemand};  // in this order
    std::chrono::seconds spot_patience{600};  // a pod that waits so long goes on demand
    NodeShape node;
    k8s::Labels selector;  // nodes of the pool; empty: label aliquot.dev/pool
    unsigned warm = 0;     // idle nodes that are kept ready
    std::vector<Schedule> schedules;
    std::chrono::seconds scale_down_delay{300};  // a node stays so long after it is empty
    std::chrono::seconds start_timeout{900};     // from its first sight until its gates are passed
    std::vector<Gate> gates{Gate::kDriver, Gate::kDevicePlugin, Gate::kToolkit};
    document::Mark mark;

    [[nodiscard]] bool is_production() const { return environment == "production"; }
    /// Devices of one node: the largest count of a GPU resource; 0: none is named.
    [[nodiscard]] unsigned gpus_per_node() const;
    /// max, or what most_gpus allows.
    [[nodiscard]] unsigned most_nodes() const;
};

inline constexpr std::string_view kPoolLabel = "aliquot.dev/pool";

}  // namespace aliquot::pools
