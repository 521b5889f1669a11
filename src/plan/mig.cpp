// SPDX-License-Identifier: Apache-2.0
// Partition of one GPU, by brute force: at most 7 compute and 8 memory slices, so at most some
// hundred layouts.
#include "plan/mig.h"

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace aliquot::plan {
namespace {

using catalog::MigProfile;

constexpr std::size_t kMostInstances = 8;

std::uint32_t mask_of(const MigProfile& profile, unsigned start) {
    return ((1U << profile.memory_slices) - 1U) << start;
}

/// A GPU of which some is taken.
struct Taken {
    std::uint32_t memory = 0;  // one bit for each memory slice
    unsigned slices = 0;
};

unsigned slices_of_gpu(const MigProfile& profile) {
    // Families of four slices are the only ones whose profiles do not reach 7.
    return profile.family == "a30" || profile.family.starts_with("rtx-pro") ? 4 : 7;
}

bool fits(const Taken& taken, const MigProfile& profile, unsigned start) {
    return (taken.memory & mask_of(profile, start)) == 0 &&
           taken.slices + profile.slices <= slices_of_gpu(profile);
}

Taken with(const Taken& taken, const MigProfile& profile, unsigned start) {
    return {taken.memory | mask_of(profile, start), taken.slices + profile.slices};
}

Taken taken_by(const MigLayout& layout) {
    Taken taken;
    for (const MigSlot& slot : layout) taken = with(taken, *slot.profile, slot.start);
    return taken;
}

unsigned count_of(const MigLayout& layout, const MigProfile* profile) {
    return static_cast<unsigned>(std::ranges::count(layout, profile, &MigSlot::profile));
}

/// Extends a layout to the right of its last start.
void extend(std::span<const MigProfile* const> profiles, const Taken& taken, unsigned from,
            MigLayout& layout, std::vector<MigLayout>& all) {
    all.push_back(layout);
    for (const MigProfile* const profile : profiles) {
        if (count_of(layout, profile) >= profile->most) continue;
        for (const unsigned start : profile->starts) {
            if (start < from || !fits(taken, *profile, start)) continue;
            layout.push_back({profile, start});
            extend(profiles, with(taken, *profile, start), start + 1, layout, all);
            layout.pop_back();
        }
    }
}

/// How many more of the smallest profile of the family would fit.
unsigned room_in(const MigLayout& layout, const MigProfile& smallest) {
    Taken taken = taken_by(layout);
    unsigned room = 0;
    for (const unsigned start : smallest.starts) {
        if (!fits(taken, smallest, start)) continue;
        taken = with(taken, smallest, start);
        ++room;
    }
    return room;
}

const MigProfile& smallest_of(std::string_view family) {
    const auto all = catalog::mig_profiles();
    return *std::ranges::find(all, family, &MigProfile::family);
}

struct Best {
    std::optional<MigLayout> layout;
    unsigned room = 0;
};

void place_from(std::span<const MigProfile* const> wanted, const Taken& taken, MigLayout& layout,
                Best& best) {
    if (layout.size() == wanted.size()) {
        const unsigned room = wanted.empty() ? 0 : room_in(layout, smallest_of(wanted[0]->family));
        if (!best.layout || room > best.room) best = {layout, room};
        return;
    }
    const MigProfile* const profile = wanted[layout.size()];
    // Equal profiles stand side by side: their order among themselves does not matter.
    unsigned from = 0;
    if (!layout.empty() && layout.back().profile == profile) from = layout.back().start + 1;
    if (count_of(layout, profile) >= profile->most) return;
    for (const unsigned start : profile->starts) {
        if (start < from || !fits(taken, *profile, start)) continue;
        layout.push_back({profile, start});
        place_from(wanted, with(taken, *profile, start), layout, best);
        layout.pop_back();
    }
}

std::optional<MigLayout> choose_from(std::span<const MigNeed> needs, std::size_t at,
                                     std::vector<const MigProfile*>& chosen, unsigned& tries) {
    constexpr unsigned kMostTries = 20'000;
    if (++tries > kMostTries) return std::nullopt;
    if (at == needs.size()) return place_mig(chosen);
    for (const MigProfile* const profile : needs[at].choices) {
        chosen.push_back(profile);
        auto layout = choose_from(needs, at + 1, chosen, tries);
        chosen.pop_back();
        if (layout) return layout;
    }
    return std::nullopt;
}

}  // namespace

std::vector<MigLayout> mig_layouts(std::span<const MigProfile* const> profiles) {
    std::vector<MigLayout> all;
    MigLayout layout;
    extend(profiles, {}, 0, layout, all);
    return all;
}

bool is_maximal(const MigLayout& layout, std::span<const MigProfile* const> profiles) {
    const Taken taken = taken_by(layout);
    return std::ranges::none_of(profiles, [&](const MigProfile* profile) {
        if (count_of(layout, profile) >= profile->most) return false;
        return std::ranges::any_of(profile->starts,
                                   [&](unsigned start) { return fits(taken, *profile, start); });
    });
}

std::optional<MigLayout> place_mig(std::span<const MigProfile* const> wanted) {
    if (wanted.size() > kMostInstances) return std::nullopt;
    std::vector<const MigProfile*> sorted(wanted.begin(), wanted.end());
    std::ranges::stable_sort(sorted, [](const MigProfile* a, const MigProfile* b) {
        if (a->memory_slices != b->memory_slices) return a->memory_slices > b->memory_slices;
        return a->slices != b->slices ? a->slices > b->slices : a < b;
    });
    Best best;
    MigLayout layout;
    place_from(sorted, {}, layout, best);
    return best.layout;
}

std::optional<MigLayout> place_needs(std::span<const MigNeed> needs) {
    if (needs.size() > kMostInstances) return std::nullopt;
    unsigned slices = 0;
    for (const MigNeed& need : needs) {
        if (need.choices.empty()) return std::nullopt;
        slices += need.choices.front()->slices;  // the fewest of all its choices
        if (slices > slices_of_gpu(*need.choices.front())) return std::nullopt;
    }
    std::vector<const MigProfile*> chosen;
    unsigned tries = 0;
    return choose_from(needs, 0, chosen, tries);
}

MigNeed mig_need(const catalog::GpuModel& model, double memory_gib, double compute_percent) {
    const double total = catalog::mig_slices(model);
    MigNeed need;
    for (const MigProfile& profile : catalog::mig_profiles(model)) {
        const bool plain =
            profile.name.find('+') == std::string_view::npos && !profile.name.ends_with("-me");
        const bool large_enough = profile.memory_gib >= memory_gib &&
                                  profile.slices / total * kPercent >= compute_percent;
        if (plain && large_enough) need.choices.push_back(&profile);
    }
    std::ranges::stable_sort(need.choices, [](const MigProfile* a, const MigProfile* b) {
        return a->slices != b->slices ? a->slices < b->slices : a->memory_slices < b->memory_slices;
    });
    return need;
}

}  // namespace aliquot::plan
