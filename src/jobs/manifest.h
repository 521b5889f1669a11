// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "document/value.h"
#include "jobs/request.h"

namespace aliquot::jobs {

/// The batch/v1 Job of a request. Always with limits of CPU, memory and GPU, a deadline, a time to live and a restart
/// policy; suspended where a queue is named and no_queue is not. Values of variables stand in the container alone.
/// errors   kInvalidInput: as require_valid() for a cluster
Result<document::Value> job_manifest(const Request& request);

}  // namespace aliquot::jobs
