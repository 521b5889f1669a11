// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mig/geometry.h"
#include "mig/layout_spec.h"

namespace aliquot::mig {

/// What a configuration's well-known name means on one GPU, without a file: `all-disabled`,
/// `all-enabled` (MIG mode, no instance), `all-<profile>` ("all-1g.10gb", "all-1g.10gb.me"; as many
/// as there is room for), `all-balanced` (of half the GPU one, of a quarter one, of the smallest
/// two).
struct WellKnown {
    bool enabled = true;
    LayoutSpec spec;
};
/// Empty: the name is not one of these, or this GPU has no such profile.
/// source   NVIDIA mig-parted, the configurations that its manager generates
std::optional<WellKnown> well_known(std::string_view name, const Geometry& geometry);

/// Whether the name is `all-disabled` or `all-enabled`, or begins as the others do.
bool is_well_known(std::string_view name);

/// "all-disabled, all-enabled, all-1g.5gb, ..., all-balanced" of this GPU.
std::string well_known_names(const Geometry& geometry);

}  // namespace aliquot::mig
