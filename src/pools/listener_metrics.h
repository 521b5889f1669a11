// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "document/build.h"

namespace aliquot::pools {

/// `listenerMetrics` of the chart's values: all metrics of ARC's listener, those of jobs by repository and workflow.
document::Value listener_metrics();

}  // namespace aliquot::pools
