// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "top/keys.h"
#include "top/screen.h"

namespace aliquot::top {

// What keys ask for beyond looking. Pure but for `ui`.

enum class Wanted : std::uint8_t { kEnd, kLog };
/// Of the cursor's row: to end its process or delete its pod, which is asked back; to read its log.
void ask_for(UiState& ui, const Table& table, const ClusterSnapshot& cluster, Wanted wanted);

/// y does what was asked for; any other key drops it.
void answer(UiState& ui, const Key& key);

/// Moves in the text that is shown; Esc, q and Left leave it.
void page_through(UiState& ui, const Key& key, std::size_t page);

enum class Pace : bool { kFaster, kSlower };
/// The next of .5, 1, 2, 5, 10, 30 and 60 seconds between looks.
void change_interval(UiState& ui, Pace pace);

}  // namespace aliquot::top
