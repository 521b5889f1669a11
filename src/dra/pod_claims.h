// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "dra/prepare.h"

namespace aliquot::dra {

/// The claims that one container of a pod uses, by the names of the objects.
struct ContainerClaims {
    std::string container;
    std::set<std::string> claims;
};

/// Of every container of a Pod that uses one: claims that the pod names, those made from its templates, and that of
/// its extended resources.
std::vector<ContainerClaims> claims_of_containers(const document::Value& pod);

/// Other claims with limits in the namespace of `wanted`, which is where pods find claims, by name; none: `wanted` has
/// no limits, or nobody else has.
std::set<std::string> limited_beside(const PreparedClaim& wanted, const PreparedClaims& prepared);

/// What was read of pods, by name.
using PodObjects = std::map<std::string, Result<document::Value>>;

/// A container has one region of the guard, so one claim with limits. A pod that is gone has no container.
/// errors   kInvalidInput: a container that uses `wanted` and one of `limited`; of a pod that could not be read
Result<Done> check_containers(const PodObjects& pods, const PreparedClaim& wanted,
                              const std::set<std::string>& limited);

}  // namespace aliquot::dra
