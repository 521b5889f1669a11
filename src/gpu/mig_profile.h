// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::gpu {

/// A profile's name, taken apart: "1c.3g.20gb+me".
struct MigProfileName {
    unsigned compute_slices = 0;  // equal to gpu_slices when the name has no "<c>c."
    unsigned gpu_slices = 0;
    unsigned memory_gb = 0;
    std::vector<std::string> attributes;  // "me", "gfx", "me.all"; sorted
    bool without_media = false;           // "-me"
    friend bool operator==(const MigProfileName&, const MigProfileName&) = default;
};

/// Reads "3g.20gb", "1c.3g.20gb", "1g.10gb+me", "1g.10gb.me", "mig-1g.10gb", "nvidia.com/mig-...".
/// errors   kInvalidInput: not of that form; the message quotes `text`
Result<MigProfileName> parse_mig_profile(std::string_view text);
std::string to_text(const MigProfileName& name);

/// The number before "gb" in a profile's name: the share of memory rounded up to eighths, of the
/// GPU's memory rounded up to GiB.
/// source   NVIDIA go-nvlib, MIG profile names
unsigned mig_memory_gb(std::uint64_t instance_mib, std::uint64_t gpu_bytes);

/// The extended resource under strategy mixed: "nvidia.com/mig-1g.10gb.me".
std::string mig_resource(std::string_view profile);

}  // namespace aliquot::gpu
