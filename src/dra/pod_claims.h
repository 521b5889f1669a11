// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "document/value.h"

namespace aliquot::dra {

/// The claims that one container of a pod uses, by the names of the objects.
struct ContainerClaims {
    std::string container;
    std::set<std::string> claims;
};

/// Of every container of a Pod that uses one: claims that the pod names, those made from its templates, and that of
/// its extended resources.
std::vector<ContainerClaims> claims_of_containers(const document::Value& pod);

}  // namespace aliquot::dra
