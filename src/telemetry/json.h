// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

/// The snapshot as GET /api/v1/state answers it. Absent amounts are left out. Contract: names and
/// units in docs/guide/metrics.md; fields may be added.
std::string to_json(const Snapshot& snapshot);

/// Reads what to_json() wrote, of this version or a newer one. Guards' regions are not in it.
/// errors   kInvalidInput: not such a text, larger than 16 MiB, or a number out of range
Result<Snapshot> parse_state(std::string_view json);

}  // namespace aliquot::telemetry
