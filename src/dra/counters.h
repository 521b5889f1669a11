// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "document/value.h"
#include "mig/geometry.h"

/// What can be had of a GPU that claims cut, in the words of resource.k8s.io/v1: a counter set for each GPU, with each
/// memory slice, the compute slices, and how many there may be of profiles of which the slices alone would allow more.
/// So kube-scheduler gives together what mig::Occupancy says fits together, and nothing else. Pure.
namespace aliquot::dra {

/// Counters of one set at most.
/// source   k8s.io/api resource/v1, ResourceSliceMaxCountersPerCounterSet
inline constexpr std::size_t kMostCounters = 32;

/// An element of spec.sharedCounters; `name` is a DNS label. Empty: the GPU has more counters than a set may have.
std::optional<document::Value> counter_set(const std::string& name, const mig::Geometry& geometry);

/// consumesCounters of an instance at its place; without `slot` of the whole GPU, which takes all there is.
document::Value consumed_counters(const std::string& name, const mig::Geometry& geometry,
                                  std::optional<mig::Slot> slot);

/// "1g-10gb-me" of "1g.10gb+me", "1g-24gb-no-me" of "1g.24gb-me": for names.
std::string profile_label(const std::string& profile);

}  // namespace aliquot::dra
