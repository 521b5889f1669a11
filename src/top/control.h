// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/keys.h"
#include "top/screen.h"

namespace aliquot::top {

/// What a key does to the desk. Pure but for the desk.
/// table   what the desk shows
/// page    rows that fit the screen
void press(Desk& desk, const Key& key, const Table& table, const World& world, std::size_t page);

}  // namespace aliquot::top
