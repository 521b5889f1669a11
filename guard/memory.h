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
/// stream   stream_key() of the one in which it was freed; 0: of none
void release(const Record& record, std::uint64_t key = 0, std::uint64_t stream = 0);

/// For memory of a device that has no place in the ledger, whose table of devices is full: it would be
/// counted nowhere. Remarks and logs it.
/// returns  true: to be refused; false: the device has a place or does not exist, or by policy all
///          goes through
bool refuse_uncounted(std::uint64_t bytes);

/// The context is gone, and with it all that was made in it.
void drop_context(std::uint64_t context);

}  // namespace aliquot::guard
