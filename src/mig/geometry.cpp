// SPDX-License-Identifier: Apache-2.0
#include "mig/geometry.h"

#include <algorithm>
#include <cmath>

#include "catalog/mig_profiles.h"
#include "gpu/mig_profile.h"

namespace aliquot::mig {
namespace {

constexpr unsigned kMostMemorySlices = 32;

bool is_plain(std::string_view name) {
    return name.find('+') == std::string_view::npos && !name.ends_with("-me");
}

Geometry finished(std::vector<Profile> profiles) {
    Geometry geometry;
    std::ranges::stable_sort(profiles, [](const Profile& a, const Profile& b) {
        if (a.slices != b.slices) return a.slices < b.slices;
        if (a.size != b.size) return a.size < b.size;
        return a.plain > b.plain;
    });
    for (Profile& profile : profiles) {
        if (const auto name = gpu::parse_mig_profile(profile.name)) {
            profile.name = gpu::to_text(*name);
        }
        std::ranges::sort(profile.starts);
        if (profile.starts.empty() || profile.size == 0 || profile.slices == 0) continue;
        if (profile.starts.back() + profile.size > kMostMemorySlices) continue;
        geometry.slices = std::max(geometry.slices, profile.slices);
        geometry.memory_slices =
            std::max(geometry.memory_slices, profile.starts.back() + profile.size);
        geometry.profiles.push_back(std::move(profile));
    }
    return geometry;
}

std::optional<unsigned> number_of(std::string_view id) {
    if (id.starts_with('~')) id.remove_prefix(1);
    if (id.empty()) return std::nullopt;
    unsigned number = 0;
    for (const char c : id) {
        if (c < '0' || c > '9') return std::nullopt;
        number = number * 10 + static_cast<unsigned>(c - '0');
    }
    return number;
}

void extend(const Geometry& geometry, Occupancy& taken, unsigned from, Layout& layout,
            std::vector<Layout>& all, std::size_t limit) {
    if (all.size() >= limit) return;
    all.push_back(layout);
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        for (const unsigned start : geometry.profiles[p].starts) {
            const Slot slot{p, start};
            if (start < from || !taken.fits(geometry, slot)) continue;
            layout.push_back(slot);
            taken.put(geometry, slot);
            extend(geometry, taken, start + 1, layout, all, limit);
            taken.take(geometry, slot);
            layout.pop_back();
        }
    }
}

}  // namespace

std::optional<unsigned> Geometry::find(std::string_view name) const {
    for (unsigned i = 0; i < profiles.size(); ++i) {
        if (profiles[i].name == name) return i;
    }
    const auto wanted = gpu::parse_mig_profile(name);
    if (!wanted) return std::nullopt;
    const std::string text = gpu::to_text(*wanted);
    for (unsigned i = 0; i < profiles.size(); ++i) {
        if (profiles[i].name == text) return i;
    }
    return std::nullopt;
}

Result<Geometry> geometry_of(const catalog::GpuModel& model) {
    std::vector<Profile> profiles;
    for (const catalog::MigProfile& known : catalog::mig_profiles(model)) {
        constexpr double kMibPerGib = 1024;
        profiles.push_back(
            {.name = std::string(known.name),
             .id = number_of(known.id),
             .slices = known.slices,
             .size = known.memory_slices,
             .most = known.most,
             .memory_mib = static_cast<std::uint64_t>(std::llround(known.memory_gib * kMibPerGib)),
             .multiprocessors = known.multiprocessors,
             .starts = known.starts,
             .plain = is_plain(known.name)});
    }
    if (!profiles.empty()) return finished(std::move(profiles));
    return Error{ErrorCode::kUnsupported,
                 std::string(model.name) +
                     (model.has_mig() ? " has MIG, but only its driver knows the profiles: ask on "
                                        "a node that has one"
                                      : " has no MIG; time-slicing or MPS can share it")};
}

Result<Geometry> geometry_of(const gpu::Partitions& partitions) {
    std::vector<Profile> profiles;
    for (const gpu::MigProfile& told : partitions.profiles) {
        if (told.placements.empty()) continue;
        Profile profile{.name = told.name,
                        .id = told.id,
                        .slices = told.slices,
                        .size = told.placements.front().size,
                        .most = told.most,
                        .memory_mib = told.memory_mib,
                        .multiprocessors = told.multiprocessors,
                        .engines = told.engines,
                        .plain = is_plain(told.name)};
        for (const gpu::MigPlacement& placement : told.placements) {
            if (placement.size == profile.size) profile.starts.push_back(placement.start);
        }
        profiles.push_back(std::move(profile));
    }
    Geometry geometry = finished(std::move(profiles));
    if (!geometry.profiles.empty()) return geometry;
    return Error{ErrorCode::kUnsupported, "the driver lists no MIG profiles"};
}

Geometry only(const Geometry& geometry, const std::vector<std::string_view>& names) {
    Geometry result = geometry;
    std::erase_if(result.profiles, [&names](const Profile& profile) {
        return std::ranges::find(names, profile.name) == names.end();
    });
    return result;
}

std::uint32_t mask_of(unsigned start, unsigned size) {
    return static_cast<std::uint32_t>(((std::uint64_t{1} << size) - 1U) << start);
}

bool Occupancy::fits(const Geometry& geometry, Slot slot) const {
    const Profile& profile = geometry.profiles[slot.profile];
    return (memory & mask_of(slot.start, profile.size)) == 0 &&
           slices + profile.slices <= geometry.slices && instances[slot.profile] < profile.most;
}

void Occupancy::put(const Geometry& geometry, Slot slot) {
    const Profile& profile = geometry.profiles[slot.profile];
    memory |= mask_of(slot.start, profile.size);
    slices += profile.slices;
    ++instances[slot.profile];
}

void Occupancy::take(const Geometry& geometry, Slot slot) {
    const Profile& profile = geometry.profiles[slot.profile];
    memory &= ~mask_of(slot.start, profile.size);
    slices -= profile.slices;
    --instances[slot.profile];
}

std::vector<Layout> layouts(const Geometry& geometry, const Occupancy& fixed, std::size_t limit) {
    std::vector<Layout> all;
    Layout layout;
    Occupancy taken = fixed;
    extend(geometry, taken, 0, layout, all, limit);
    return all;
}

bool is_maximal(const Geometry& geometry, const Layout& layout) {
    Occupancy taken(geometry);
    for (const Slot slot : layout) taken.put(geometry, slot);
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        if (further(geometry, taken, p) > 0) return false;
    }
    return true;
}

unsigned further(const Geometry& geometry, const Occupancy& occupancy, unsigned profile) {
    const Profile& wanted = geometry.profiles[profile];
    std::uint32_t memory = occupancy.memory;
    const unsigned used = occupancy.instances[profile];
    const unsigned most = std::min((geometry.slices - occupancy.slices) / wanted.slices,
                                   wanted.most > used ? wanted.most - used : 0);
    unsigned count = 0;
    // Instances of one length, from the left: the first that ends is never the wrong one.
    for (const unsigned start : wanted.starts) {
        if (count == most) break;
        const std::uint32_t mask = mask_of(start, wanted.size);
        if ((memory & mask) != 0) continue;
        memory |= mask;
        ++count;
    }
    return count;
}

unsigned room(const Geometry& geometry, const Occupancy& occupancy) {
    unsigned sum = 0;
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        if (!geometry.profiles[p].plain) continue;
        sum += further(geometry, occupancy, p) * geometry.profiles[p].size;
    }
    return sum;
}

}  // namespace aliquot::mig
