// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exposition/own.h"
#include "exposition/rows.h"
#include "exposition/text.h"

/// One writer for each group of the catalogue. They add to the text and know nothing of each other.
namespace aliquot::exposition {

/// What all writers look at.
struct Scene {
    const telemetry::Snapshot& snapshot;
    const Style& style;
    const Rows& rows;
};

void write_inventory(Text& text, const Scene& scene);  // native: what there is, health
void write_gpus(Text& text, const Scene& scene);       // native: metrics of GPUs and MIG instances
void write_pods(Text& text, const Scene& scene);       // native: pods, what is nobody's
void write_self(Text& text, const Scene& scene, const Own& own);
void write_guards(Text& text, const Scene& scene);
void write_fields(Text& text, const Scene& scene);       // classic and renamed
void write_older_names(Text& text, const Scene& scene);  // older and openshift

/// Seconds since 1970, to the millisecond.
Decimal seconds_of(telemetry::Moment moment);

}  // namespace aliquot::exposition
