// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "cmd/aliquot-probe/arguments.h"

namespace aliquot::probe {

/// Works for half a second, for `measured_seconds` that count, and for half a second more: programs that
/// start at about the same time are all at work while any of them measures.
/// place    kCpu: on all cores that we may use; kGpu: on the first visible GPU
/// Returns how often the probe's kernel ran over an array of 4 MiB, per second.
/// errors   of the driver; kUnsupported: a result is wrong
Result<double> work(Arguments::Work place, unsigned measured_seconds);

}  // namespace aliquot::probe
