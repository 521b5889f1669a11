// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A cap: so much GPU time per time, for all processes of the container together.
namespace aliquot::guard {

/// GPU time that was used.
void charge_time(unsigned place, std::uint64_t ns);

/// Refills, then: how long until there is GPU time again; 0: there is.
std::uint64_t time_until_allowed(unsigned place, std::uint32_t cap_ppm);

}  // namespace aliquot::guard
