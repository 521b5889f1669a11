// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "guard/session.h"

/// Device memory: charged before the driver is asked, given back when the driver took it back.
namespace aliquot::guard {

/// What the driver will take for `bytes`: small requests share blocks of 512 bytes, large ones take
/// whole pages of 2 MiB.
std::uint64_t charged_size(std::uint64_t bytes);

/// Requests of no size or an absurd one are the driver's to answer.
inline bool is_sensible(std::uint64_t bytes) {
    return bytes != 0 && bytes <= (std::uint64_t{1} << 50);
}

/// Charges `bytes`, if need be after giving back what is only seemingly in use.
/// returns  false: over the limit; noted
bool reserve(unsigned place, std::uint64_t bytes, Part part = Part::kTracked);

/// Gives back what one record stands for.
void release(const Record& record);

/// The context is gone, and with it all that was made in it.
void drop_context(std::uint64_t context);

}  // namespace aliquot::guard
