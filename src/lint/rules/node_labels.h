// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "lint/facts.h"
#include "lint/file.h"
#include "lint/set.h"

namespace aliquot::lint {

using LabelKeys = std::set<std::string, std::less<>>;

/// Keys of labels that something gives to nodes, as far as the files around this one and the facts tell:
/// NodePools, node groups, machine sets, options of clouds' commands, Terraform, `kubectl label` in what
/// a container runs. `kubectl label` in a runbook does not count.
/// facts   nullptr: none
LabelKeys labels_of_nodes(const File& file, const Set& set, const Facts* facts);

}  // namespace aliquot::lint
