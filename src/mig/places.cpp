// SPDX-License-Identifier: Apache-2.0
#include "mig/places.h"

#include <algorithm>
#include <optional>

namespace aliquot::mig {
namespace {

/// A cut that grows, instance by instance.
class GrowingCut {
public:
    explicit GrowingCut(const Geometry& geometry) : geometry_(geometry), taken_(geometry) {}

    [[nodiscard]] bool has(const Instance& one) const {
        return std::ranges::any_of(instances_, [&](const Instance& other) {
            return other.profile == one.profile && other.start == one.start &&
                   other.size == one.size;
        });
    }
    /// False: it does not fit.
    bool add(const Instance& one) {
        const std::uint32_t mask = mask_of(one.start, one.size);
        if (((taken_.memory | foreign_) & mask) != 0) return false;
        if (const auto profile = geometry_.find(one.profile)) {
            const Slot slot{*profile, one.start};
            if (!taken_.fits(geometry_, slot)) return false;
            taken_.put(geometry_, slot);
        } else {
            foreign_ |= mask;
        }
        instances_.push_back(one);
        return true;
    }
    std::vector<Instance> take() {
        std::ranges::sort(instances_, {}, &Instance::start);
        return std::move(instances_);
    }

private:
    const Geometry& geometry_;
    Occupancy taken_;
    std::uint32_t foreign_ = 0;  // memory slices of profiles that nobody knows
    std::vector<Instance> instances_;
};

/// A whole one, as the GPU has it.
Result<Instance> known_instance(const Geometry& geometry, const Instance& wanted) {
    const auto profile = geometry.find(wanted.profile);
    const bool has =
        profile && std::ranges::find(geometry.profiles[*profile].starts, wanted.start) !=
                       geometry.profiles[*profile].starts.end();
    if (!has) {
        return Error{ErrorCode::kNotFound, wanted.profile + '@' + std::to_string(wanted.start) +
                                               ": this GPU has no such profile or place"};
    }
    Instance made = wanted;
    made.profile = geometry.profiles[*profile].name;
    made.size = geometry.profiles[*profile].size;
    made.compute = {geometry.profiles[*profile].slices};
    return made;
}

}  // namespace

std::vector<Slot> places_of(const Geometry& geometry) {
    std::vector<Slot> places;
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        const std::size_t begin = places.size();
        for (const unsigned start : geometry.profiles[p].starts) places.push_back({p, start});
        std::ranges::stable_sort(places.begin() + static_cast<std::ptrdiff_t>(begin), places.end(),
                                 std::greater<>(), [&](Slot slot) {
                                     Occupancy taken(geometry);
                                     taken.put(geometry, slot);
                                     return room(geometry, taken);
                                 });
    }
    return places;
}

Result<std::vector<Instance>> cut_with(const Geometry& geometry, const std::vector<Instance>& there,
                                       const std::vector<Instance>& wanted) {
    GrowingCut cut(geometry);
    for (const Instance& one : there) {
        if (one.busy && !cut.add(one)) {
            return Error{ErrorCode::kConflict, to_text(one, geometry) +
                                                   " does not fit beside the others: the driver "
                                                   "cuts this GPU in a way that is not known"};
        }
    }
    for (const Instance& one : wanted) {
        const auto known = known_instance(geometry, one);
        if (!known) return known.error();
        if (cut.has(*known) || cut.add(*known)) continue;
        std::string busy;
        for (const Instance& other : there) {
            if (other.busy) busy += (busy.empty() ? "" : ", ") + to_text(other, geometry);
        }
        return Error{ErrorCode::kConflict,
                     to_text(*known, geometry) + " does not fit beside " +
                         (busy.empty() ? std::string("what else is wanted") : busy)};
    }
    for (const Instance& one : there) {
        if (!one.busy && !cut.has(one)) (void)cut.add(one);
    }
    return cut.take();
}

}  // namespace aliquot::mig
