// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/screen.h"

namespace aliquot::top {

// How keys and the mouse change what the table is sorted by. Pure but for `ui`.

/// By this column; by the one that it is sorted by already: the other way round.
void sort_by(UiState& ui, Sort sort);

enum class Direction : bool { kForward, kBackward };
/// By the next column that can be sorted by, or the one before.
void sort_by_next(UiState& ui, const Table& table, Direction direction);

/// N name, U utilization, M memory, W power, I idle, A age, T temperature, C cost or CPU; another
/// letter, or one whose column the table does not have: nothing happens.
void sort_by_letter(UiState& ui, const Table& table, char letter);

}  // namespace aliquot::top
