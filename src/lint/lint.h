// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "findings/finding.h"
#include "lint/facts.h"
#include "lint/set.h"

namespace aliquot::lint {

/// Runs every family over every file, `threads` at a time (0: as many as there are processors).
/// Returns sorted findings, ignored ones left out.
std::vector<findings::Finding> check(const Set& set, const Facts* facts, unsigned threads = 0);

}  // namespace aliquot::lint
