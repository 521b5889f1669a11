// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mig/apply.h"
#include "mig/journal.h"

namespace aliquot::mig {

/// One GPU looked at and planned; nothing is touched.
struct Survey {
    GpuReport report;    // kUnchanged, kPlanned or kRefused
    JournalEntry entry;  // what would be done
};

/// errors   of gpu::Partitioner::look; kUnsupported: its profiles are not known
Result<Survey> survey(gpu::Partitioner& gpus, const GpuSpec& spec, const ApplyOptions& options);

}  // namespace aliquot::mig
