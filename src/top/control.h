// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/keys.h"
#include "top/screen.h"

namespace aliquot::top {

/// What a key or the mouse does to the live view. Pure but for `ui`.
/// table    what the live view shows
/// screen   as it was drawn last
void press(UiState& ui, const Key& key, const Table& table, const ClusterSnapshot& cluster,
           const Screen& screen);

}  // namespace aliquot::top
