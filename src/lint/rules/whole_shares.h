// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lint/file.h"
#include "lint/set.h"

namespace aliquot::lint {

/// What sharing configurations make of whole GPUs.
struct WholeShares {
    unsigned kept = 0;             // configurations whose shares are called nvidia.com/gpu
    unsigned renamed = 0;          // those whose shares are called nvidia.com/gpu.shared
    unsigned others = 0;           // those that share MIG devices alone
    const File* holder = nullptr;  // the last file that has one

    [[nodiscard]] bool none() const { return kept + renamed + others == 0; }
};

/// The configurations of this file; where it has none and is no runbook, those of the files beside it.
WholeShares whole_shares(const File& file, const Set& set);

}  // namespace aliquot::lint
