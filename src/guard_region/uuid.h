// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "abi/region.h"
#include "base/result.h"

namespace aliquot::guard_region {

/// The 16 bytes of a device's name, as cuDeviceGetUuid_v2 gives them.
///
/// text     "GPU-" or "MIG-", then 8-4-4-4-12 hexadecimal digits
/// errors   kInvalidInput: anything else (also the names of MIG devices before driver 470)
Result<abi::DeviceUuid> parse_uuid(std::string_view text);

/// The inverse, without knowing what it is the name of: "GPU-...".
std::string gpu_text(const abi::DeviceUuid& uuid);

/// Whether both texts name the same device, whatever they call its kind ("GPU-", "MIG-").
bool same_device(std::string_view one, std::string_view other);

bool same(const abi::DeviceUuid& one, const abi::DeviceUuid& other);
bool is_none(const abi::DeviceUuid& uuid);

}  // namespace aliquot::guard_region
