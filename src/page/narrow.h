// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "page/node_tables.h"

namespace aliquot::page {

/// What somebody may see of a look who may see the pods of one namespace only: these pods, the GPUs that they are on
/// and how full and busy those are, their nodes' names. Nothing that names others: no other pods, processes, guards,
/// remarks, jobs or costs. Pure.
Sight only_of(const Sight& sight, const std::string& pod_namespace);

}  // namespace aliquot::page
