// SPDX-License-Identifier: Apache-2.0
// Why a spec cannot be had, and what comes nearest.
#include <algorithm>
#include <set>
#include <tuple>

#include "mig/search.h"

namespace aliquot::mig {
namespace {

std::string list_of(const std::vector<Instance>& instances) {
    std::string text;
    for (const Instance& instance : instances) {
        text +=
            (text.empty() ? "" : ", ") + instance.profile + '@' + std::to_string(instance.start);
    }
    return text;
}

std::string starts_of(const Geometry& geometry, const std::vector<Need>& needs) {
    std::set<unsigned> used;
    for (const Need& need : needs) used.insert(need.choices.begin(), need.choices.end());
    std::string text;
    for (const unsigned p : used) {
        const Profile& profile = geometry.profiles[p];
        text += (text.empty() ? "" : "; ") + profile.name + " takes " +
                std::to_string(profile.size) + (profile.size == 1 ? " slice" : " slices") + " at ";
        for (std::size_t i = 0; i < profile.starts.size(); ++i) {
            text += (i == 0 ? "" : ",") + std::to_string(profile.starts[i]);
        }
    }
    return text;
}

/// Why the needs do not fit even on an empty GPU.
std::string geometry_reason(const Geometry& geometry, const Task& task, const LayoutSpec& spec) {
    unsigned slices = 0;
    unsigned memory = 0;
    for (const Need& need : task.needs) {
        unsigned least_slices = ~0U;
        unsigned least_memory = ~0U;
        for (const unsigned choice : need.choices) {
            least_slices = std::min(least_slices, geometry.profiles[choice].slices);
            least_memory = std::min(least_memory, geometry.profiles[choice].size);
        }
        slices += need.count * least_slices;
        memory += need.count * least_memory;
        const Profile& profile = geometry.profiles[need.choices.front()];
        if (need.choices.size() == 1 && need.count > profile.most) {
            return to_text(spec) + " does not fit: " + std::to_string(need.count) + " times " +
                   profile.name + ", but a GPU takes at most " + std::to_string(profile.most);
        }
    }
    if (slices > geometry.slices) {
        return to_text(spec) + " does not fit: it needs " + std::to_string(slices) +
               " compute slices and the GPU has " + std::to_string(geometry.slices);
    }
    if (memory > geometry.memory_slices) {
        return to_text(spec) + " does not fit: it needs " + std::to_string(memory) +
               " memory slices and the GPU has " + std::to_string(geometry.memory_slices);
    }
    return to_text(spec) + " does not fit: no way to place it on " +
           std::to_string(geometry.memory_slices) + " memory slices (" +
           starts_of(geometry, task.needs) + ")";
}

/// The busy instances without which it would work: one that alone is the reason, else all.
std::vector<Instance> in_the_way(const Task& task) {
    std::vector<Instance> blocking;
    for (std::size_t i = 0; i < task.busy.size(); ++i) {
        Task without = task;
        without.busy.erase(without.busy.begin() + static_cast<std::ptrdiff_t>(i));
        if (search(without)) blocking.push_back(task.busy[i]);
    }
    return blocking.empty() ? task.busy : blocking;
}

/// Whether the spec has a need for each of these instances.
bool are_desired(const Task& task, const std::vector<Instance>& instances) {
    std::vector<unsigned> left;
    for (const Need& need : task.needs) left.push_back(need.count);
    for (const Instance& instance : instances) {
        const auto profile = task.geometry->find(instance.profile);
        bool found = false;
        for (std::size_t i = 0; profile && i < left.size() && !found; ++i) {
            const Need& need = task.needs[i];
            const auto compute = need.compute.empty()
                                     ? std::vector{task.geometry->profiles[*profile].slices}
                                     : need.compute;
            if (left[i] == 0 || compute != instance.compute ||
                std::ranges::find(need.choices, *profile) == need.choices.end()) {
                continue;
            }
            --left[i];
            found = true;
        }
        if (!found) return false;
    }
    return true;
}

std::string busy_reason(const Task& task, const std::vector<Instance>& blocking,
                        const LayoutSpec& spec) {
    const std::string names = list_of(blocking);
    const bool one = blocking.size() == 1;
    if (!task.leave_busy && !are_desired(task, blocking)) {
        return names + (one ? " is" : " are") + " busy and not in the layout " + to_text(spec) +
               ": busy instances stay; name " + (one ? "it" : "them") +
               " too, or end what runs there";
    }
    const Occupancy taken = occupied(*task.geometry, task.busy);
    return to_text(spec) + " does not fit beside " + names + ", which " + (one ? "is" : "are") +
           " busy and cannot move (free: " +
           std::to_string(task.geometry->slices - std::min(task.geometry->slices, taken.slices)) +
           " of " + std::to_string(task.geometry->slices) + " compute slices)";
}

/// What an instance counts as when layouts are compared.
struct Kind {
    unsigned slices = 0;
    unsigned size = 0;
    unsigned profile = 0;
    friend auto operator<=>(const Kind&, const Kind&) = default;
};

Kind kind_of(const Geometry& geometry, unsigned profile) {
    return {geometry.profiles[profile].slices, geometry.profiles[profile].size, profile};
}

unsigned gap(unsigned a, unsigned b) { return a > b ? a - b : b - a; }
unsigned price_of_one(const Kind& kind) { return 2 * kind.slices + kind.size + 1; }
unsigned price_of_change(const Kind& a, const Kind& b) {
    return 2 * gap(a.slices, b.slices) + gap(a.size, b.size) + (a.profile == b.profile ? 0 : 2);
}

/// What it costs to make one list out of the other by leaving out, adding and replacing; both
/// sorted, so that likes meet.
unsigned distance(const std::vector<Kind>& a, const std::vector<Kind>& b) {
    std::vector<unsigned> row(b.size() + 1, 0);
    for (std::size_t j = 0; j < b.size(); ++j) row[j + 1] = row[j] + price_of_one(b[j]);
    for (const Kind& one : a) {
        unsigned diagonal = row[0];
        row[0] += price_of_one(one);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const unsigned replaced = diagonal + price_of_change(one, b[j]);
            diagonal = row[j + 1];
            row[j + 1] =
                std::min({replaced, row[j + 1] + price_of_one(one), row[j] + price_of_one(b[j])});
        }
    }
    return row.back();
}

std::vector<Kind> kinds_of(const Geometry& geometry, const std::vector<Need>& needs) {
    constexpr std::size_t kMost = 64;
    std::vector<Kind> kinds;
    for (const Need& need : needs) {
        for (unsigned i = 0; i < need.count && kinds.size() < kMost; ++i) {
            kinds.push_back(kind_of(geometry, need.choices.front()));
        }
    }
    std::ranges::sort(kinds);
    return kinds;
}

/// The GPU with the plain profiles and those that the spec or a busy instance names.
Geometry without_strangers(const Task& task, const std::vector<Need>& needs) {
    std::vector<std::string_view> names;
    for (unsigned p = 0; p < task.geometry->profiles.size(); ++p) {
        const Profile& profile = task.geometry->profiles[p];
        const bool named = std::ranges::any_of(needs, [p](const Need& need) {
            return std::ranges::find(need.choices, p) != need.choices.end();
        });
        const bool there =
            std::ranges::find(task.busy, profile.name, &Instance::profile) != task.busy.end();
        if (profile.plain || named || there) names.emplace_back(profile.name);
    }
    return only(*task.geometry, names);
}

LayoutSpec spec_of(const Geometry& geometry, const std::vector<Kind>& kinds) {
    LayoutSpec spec;
    for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
        auto name = gpu::parse_mig_profile(geometry.profiles[kind->profile].name);
        if (!name) continue;
        if (!spec.empty() && spec.back().profile == *name) {
            ++spec.back().count;
        } else {
            spec.push_back({.profile = std::move(*name)});
        }
    }
    return spec;
}

/// Puts the most similar spec that can be had into the refusal.
void add_nearest(const Task& task, const LayoutSpec& spec, Refusal& refusal) {
    const auto needs = needs_of(*task.geometry, with_known_profiles(*task.geometry, spec));
    if (!needs) return;
    const Geometry geometry = without_strangers(task, *needs);
    const auto own_needs = needs_of(geometry, with_known_profiles(geometry, spec));
    if (!own_needs) return;
    const std::vector<Kind> desired = kinds_of(geometry, *own_needs);
    std::vector<Kind> fixed;
    for (const Instance& instance : task.busy) {
        if (const auto p = geometry.find(instance.profile)) {
            fixed.push_back(kind_of(geometry, *p));
        }
    }
    std::vector<Kind> best;
    std::tuple<unsigned, std::size_t> least{~0U, 0};
    std::set<std::vector<Kind>> seen;
    for (const Layout& layout : layouts(geometry, occupied(geometry, task.busy), 20'000)) {
        std::vector<Kind> kinds = fixed;
        for (const Slot slot : layout) kinds.push_back(kind_of(geometry, slot.profile));
        std::ranges::sort(kinds);
        if (!seen.insert(kinds).second) continue;
        const std::tuple rank{distance(desired, kinds), std::size_t{64} - kinds.size()};
        if (rank >= least) continue;
        least = rank;
        best = std::move(kinds);
    }
    refusal.nearest = spec_of(geometry, best);
    // A busy instance that is split stays as it is, whatever the spec says of it.
    Task nearest{.geometry = &geometry, .busy = task.busy, .idle = task.idle};
    for (Instance& instance : nearest.busy) {
        const auto p = geometry.find(instance.profile);
        if (p) instance.compute = {geometry.profiles[*p].slices};
        if (!p) nearest.leave_busy = true;
    }
    auto nearest_needs = needs_of(geometry, refusal.nearest);
    if (!nearest_needs) return;
    nearest.needs = std::move(*nearest_needs);
    const auto solution = search(nearest);
    refusal.nearest_layout = task.busy;
    if (solution) {
        for (const Placed& placed : solution->placed) {
            const Profile& profile = geometry.profiles[placed.slot.profile];
            refusal.nearest_layout.push_back({.profile = profile.name,
                                              .start = placed.slot.start,
                                              .size = profile.size,
                                              .compute = placed.compute});
        }
    }
    std::ranges::sort(refusal.nearest_layout, {}, &Instance::start);
}

}  // namespace

Refusal refuse(const Task& task, const LayoutSpec& spec) {
    Refusal refusal;
    const auto needs = needs_of(*task.geometry, spec);
    if (!needs) {
        refusal.reason = needs.error().message;
    } else {
        Task empty = task;
        empty.busy.clear();
        empty.idle.clear();
        if (search(empty)) {
            refusal.blocking = in_the_way(task);
            refusal.reason = busy_reason(task, refusal.blocking, spec);
        } else {
            refusal.reason = geometry_reason(*task.geometry, empty, spec);
        }
    }
    add_nearest(task, spec, refusal);
    return refusal;
}

}  // namespace aliquot::mig
