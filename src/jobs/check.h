// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "jobs/request.h"

namespace aliquot::jobs {

/// Where a job is to run: a cluster wants an image, a machine a command.
enum class Place : std::uint8_t { kCluster, kMachine };

/// All that is wrong with a request, in the order of its fields; empty: it can be a job.
std::vector<Problem> check(const Request& request, Place place);

/// kInvalidInput with all fields that are wrong, unless there is none.
Result<Done> require_valid(const Request& request, Place place);

}  // namespace aliquot::jobs
