// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "exposition/own.h"
#include "exposition/style.h"
#include "telemetry/snapshot.h"

namespace aliquot::exposition {

/// Everything that the snapshot tells, as Prometheus reads it. Pure and thread-safe.
///
/// Families and names are those of api/metrics.yaml. On a GPU that containers share, the rows of
/// the containers and the one without pod labels add up to the GPU's value, exactly as decimals;
/// what is not known has no row.
std::string render(const telemetry::Snapshot& snapshot, const Style& style, const Own& own = {});

}  // namespace aliquot::exposition
