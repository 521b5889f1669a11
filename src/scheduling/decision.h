// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace aliquot::scheduling {

/// Units of GPUs: resource -> GPU uuid -> units.
using DeviceUnits = std::map<std::string, std::map<std::string, unsigned>>;

/// A node where a pod may go, and the GPUs that are kept for it there.
struct Target {
    std::string node;
    DeviceUnits units;
    friend bool operator==(const Target&, const Target&) = default;
};

struct Decision {
    enum class Kind : std::uint8_t {
        kPlaced,     // on one of `targets`, best first
        kWaits,      // something has to end first; `why`
        kNever,      // no node could take it, were it empty; `why`
        kNotServed,  // it asks nothing that an agent of ours serves
    };
    Kind kind = Kind::kNotServed;
    std::vector<Target> targets;
    std::string why;  // one line
};

/// Of the pods of a gang together.
struct GangDecision {
    Decision::Kind kind = Decision::Kind::kNotServed;
    /// By pod: the place that it gets, or would get; without a node: none, or nobody of us serves what it asks for.
    std::vector<Target> targets;
    std::string domain;      // "topology.kubernetes.io/zone=a": all are there; empty: no such
    std::vector<bool> fits;  // by pod: those that would fit now
    std::string why;         // one line
};

/// What kube-scheduler's choice of a node for a pod comes to.
struct Seat {
    enum class Kind : std::uint8_t {
        kGiven,      // `units` are the pod's
        kNoRoom,     // the node cannot give it what it asks for now; `why`
        kNotServed,  // it asks nothing that our agent of this node serves
    };
    Kind kind = Kind::kNotServed;
    DeviceUnits units;
    std::string why;  // "has 2 nvidia.com/gpu free, but at most 1 of one GPU, and 2 are asked"
};

/// What a node is for a pod, as far as GPUs go.
struct NodeVerdict {
    enum class Kind : std::uint8_t {
        kFits,
        kNoRoom,   // not now; `why`
        kNever,    // not even if nobody used it; `why`
        kNotOurs,  // none of our agents serves there what the pod asks for
    };
    Kind kind = Kind::kNotOurs;
    std::string why;
};

/// What a GPU has, for people.
struct GpuBooking {
    std::string node;
    std::string gpu;  // uuid
    std::string resource;
    unsigned units = 0;
    unsigned free = 0;
    std::vector<std::string>
        pods;  // NAMESPACE/NAME, sorted; of those that are only planned "... (planned)"
};

/// A node on which a pod has no place now.
struct NearMiss {
    std::string node;
    std::string why;  // "has 3 of 8 nvidia.com/gpu free, 4 are asked"
    std::vector<std::string>
        ends;  // NAMESPACE/NAME of few pods whose end would make room; empty: none would
};

}  // namespace aliquot::scheduling
