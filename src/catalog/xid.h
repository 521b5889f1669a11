// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace aliquot::catalog {

enum class XidClass : std::uint8_t { kApplication, kDriver, kHardware, kInformation };

/// "application", "driver", "hardware", "information".
std::string_view word(XidClass kind);

/// An error number of the driver ("NVRM: Xid (PCI:...): 79, ...").
struct Xid {
    unsigned id = 0;
    std::string_view meaning;                // "GPU has fallen off the bus"
    XidClass kind = XidClass::kInformation;  // whose fault it usually is
    bool plugin_unhealthy = false;           // NVIDIA's device plugin takes the GPU away for it
    std::string_view action;                 // what fixes it
};

/// All known ones, by number.
std::span<const Xid> xids();

/// nullptr: not in the table.
const Xid* find_xid(unsigned id);

}  // namespace aliquot::catalog
