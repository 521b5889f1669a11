// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/keys.h"
#include "top/screen.h"

namespace aliquot::top {

/// What a key does to the live view. Pure but for `ui`.
/// table   what the live view shows
/// page    rows that fit the screen
void press(UiState& ui, const Key& key, const Table& table, const ClusterSnapshot& cluster,
           std::size_t page);

}  // namespace aliquot::top
