// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/label_selector.h"
#include "k8s/node.h"

/// Which node and which GPU a pod gets before kube-scheduler looks at it. Pure: it asks nobody and has
/// no clock; the controller feeds it.
namespace aliquot::scheduling {

/// One GPU that an agent of ours serves, as its annotation aliquot.dev/gpus has it.
struct ServedGpu {
    std::string uuid;
    /// Resource -> units of it that kubelet is told of (1 of a whole GPU; MIG devices of a profile count
    /// as the units of their GPU).
    std::map<std::string, unsigned> units;
    friend bool operator==(const ServedGpu&, const ServedGpu&) = default;
};

/// What is granted of a node: pod uid -> resource -> GPU uuid -> units. Annotation aliquot.dev/granted.
using Granted = std::map<std::string, std::map<std::string, std::map<std::string, unsigned>>>;

/// A node whose GPUs an agent of ours serves.
struct ServedNode {
    std::string name;
    k8s::Labels labels;
    std::vector<k8s::Taint> taints;
    bool is_open = false;  // ready and not cordoned
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::vector<ServedGpu> gpus;  // healthy ones that are offered, by index
    std::set<std::string>
        on_one_gpu;  // resources whose units for one container are of one GPU (MPS)
    Granted granted;
    /// A pod or gang that has waited long: pods that do not come before it stay off. Books sets it.
    struct Keeping {
        std::string holder;  // GpuPod::holder(); empty: nobody's
        std::string pod;     // NAMESPACE/NAME
        std::int32_t priority = 0;
    };
    Keeping kept_for;

    /// Equal in what bookings stand on.
    [[nodiscard]] bool has_same_devices(const ServedNode& other) const {
        return cpu_milli == other.cpu_milli && memory_mib == other.memory_mib &&
               gpus == other.gpus && on_one_gpu == other.on_one_gpu;
    }
};

/// Empty: none of our agents says which GPU serves what there (another vendor's plugin, or an agent that is
/// too old), or it offers no GPU.
std::optional<ServedNode> read_served_node(const k8s::Node& node);

/// Of the labels of a node those by which pods are put near each other or apart, as long as they are well known.
k8s::Labels topology_of(const k8s::Labels& labels);

/// errors   none: of a text that is no such annotation nothing is granted
Granted parse_granted(std::string_view json);
std::string to_json(const Granted& granted);

}  // namespace aliquot::scheduling
