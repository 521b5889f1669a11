// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot {

/// Whether a text for people has the codes (SGR) with which a terminal shows colours.
enum class Colour : std::uint8_t { kNever, kAnsi };

}  // namespace aliquot
