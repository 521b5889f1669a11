// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "document/value.h"
#include "k8s/pod.h"

/// Gangs: pods that start together or not at all.
namespace aliquot::scheduling {

/// Label: the name of the pod's gang; "none": it is in none, whatever owns it.
inline constexpr char kGangLabel[] = "aliquot.dev/gang";
/// Label or annotation: how many pods a gang has, 1 to kMostMembers.
inline constexpr char kGangSize[] = "aliquot.dev/gang-size";
/// Annotations: the label of nodes that all members should have, or must have, with one value.
inline constexpr char kGangPreferredTopology[] = "aliquot.dev/gang-preferred-topology";
inline constexpr char kGangRequiredTopology[] = "aliquot.dev/gang-required-topology";
inline constexpr unsigned kMostMembers = 1024;

/// What a pod says of the gang that it may belong to. How many members that has may stand on another object.
struct GangClaim {
    enum class Source : std::uint8_t { kNone, kLabel, kJob, kJobSet, kPodGroup };
    Source source = Source::kNone;  // who knows the size
    std::string key;        // pods of one namespace with equal keys claim the same; empty: no gang
    std::string name;       // for people
    std::string object;     // the name of the Job, JobSet or PodGroup
    std::string part;       // of a JobSet: the replicated job that it is of
    bool is_named = false;  // by kGangLabel: it is meant as a gang
    unsigned size = 0;      // of kLabel
    std::string preferred_topology;
    std::string required_topology;
    std::string wrong;  // why the size is not to be used, one line; empty: nothing
};

/// In the order: kGangLabel with a size, PodGroup (spec.schedulingGroup), JobSet, Job with an index or the label.
GangClaim read_gang_claim(const k8s::Pod& pod, const document::Value& object);

/// How many pods a gang has, as its object tells.
struct GangSize {
    bool is_gang = false;                   // false: its pods are placed one by one
    unsigned size = 0;                      // of all; with parts: 0
    std::map<std::string, unsigned> parts;  // by replicated job, where one starts after the other
};

/// Of a Job: as many as run at once; an Indexed one whose pods all run at once is a gang by itself. Of a JobSet:
/// all of its Jobs, or each replicated job where they start in order. Of a PodGroup: minCount of its policy gang.
/// errors   kInvalidInput: no JSON object
Result<GangSize> read_gang_size(const GangClaim& claim, std::string_view object);

}  // namespace aliquot::scheduling
