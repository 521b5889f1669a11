// SPDX-License-Identifier: Apache-2.0
#include "mig/well_known.h"

#include <algorithm>

namespace aliquot::mig {
namespace {

constexpr std::string_view kPrefix = "all-";

InstanceSpec want_of(const Profile& profile, unsigned count) {
    InstanceSpec want{.count = count};
    if (auto name = gpu::parse_mig_profile(profile.name)) want.profile = *std::move(name);
    return want;
}

/// The plain profile of so many memory slices with the most, or the fewest, compute slices.
const Profile* of_size(const Geometry& geometry, unsigned size, bool most) {
    const Profile* found = nullptr;
    for (const Profile& profile : geometry.profiles) {
        if (!profile.plain || profile.size != size) continue;
        if (found == nullptr || (profile.slices < found->slices) != most) found = &profile;
    }
    return found;
}

std::optional<WellKnown> balanced(const Geometry& geometry) {
    const unsigned all = geometry.memory_slices;
    const Profile* const half = of_size(geometry, all / 2, false);
    const Profile* const quarter = of_size(geometry, all / 4, true);
    if (half == nullptr || quarter == nullptr) return std::nullopt;
    const Profile* const eighth = all >= 8 ? of_size(geometry, all / 8, true) : nullptr;
    WellKnown known;
    // A GPU of four memory slices has no smaller part than a quarter.
    known.spec.push_back(want_of(eighth != nullptr ? *eighth : *quarter, 2));
    if (eighth != nullptr) known.spec.push_back(want_of(*quarter, 1));
    known.spec.push_back(want_of(*half, 1));
    return known;
}

}  // namespace

bool is_well_known(std::string_view name) { return name.starts_with(kPrefix); }

std::optional<WellKnown> well_known(std::string_view name, const Geometry& geometry) {
    if (!is_well_known(name)) return std::nullopt;
    const std::string_view rest = name.substr(kPrefix.size());
    if (rest == "disabled") return WellKnown{.enabled = false};
    if (rest == "enabled") return WellKnown{};
    if (rest == "balanced") return balanced(geometry);
    const auto profile = geometry.find(rest);
    if (!profile) return std::nullopt;
    WellKnown known;
    known.spec.push_back(
        want_of(geometry.profiles[*profile], further(geometry, Occupancy(geometry), *profile)));
    return known;
}

std::string well_known_names(const Geometry& geometry) {
    std::string names = "all-disabled, all-enabled";
    for (const Profile& profile : geometry.profiles) {
        std::string name = profile.name;
        std::ranges::replace(name, '+', '.');
        names += ", all-" + name;
    }
    return names + (balanced(geometry) ? ", all-balanced" : "");
}

}  // namespace aliquot::mig
