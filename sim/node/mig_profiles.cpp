// SPDX-License-Identifier: Apache-2.0
#include "sim/node/mig_profiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "catalog/mig_profiles.h"
#include "catalog/table.h"

namespace aliquot::sim {
namespace {

// Where compute instances may begin, a bit for each compute slice.
constexpr unsigned kAnySlice = 0b111'1111;
constexpr unsigned kLowPairs = 0b1'0101;
constexpr unsigned kHalves = 0b1'0001;
constexpr unsigned kFirst = 0b1;

/// The catalogue's name of a model's family, which calls the H200 by its one size of memory.
std::string_view family_of(const Model& model) {
    return model.name == "h200-141" ? "h200" : model.name;
}

GpuProfile profile_of(const Model& model, const catalog::MigProfile& known) {
    GpuProfile profile{.model = model.name,
                       .name = known.name,
                       .id = catalog::count_of(known.id),
                       .index = *known.index,
                       .slices = known.slices,
                       .size = known.memory_slices,
                       .most = known.most,
                       .memory_mib = known.memory_mib,
                       .multiprocessors = known.multiprocessors,
                       .copy_engines = known.copy_engines,
                       .decoders = known.decoders,
                       .jpegs = known.jpegs,
                       .flows = known.flows};
    for (const unsigned start : known.starts) profile.starts |= 1U << start;
    return profile;
}

/// All profiles; those of one model stand together, by NVML's enumeration.
const std::vector<GpuProfile>& all_profiles() {
    // Never destroyed: programs call their driver while they exit.
    static const auto& kProfiles = *new std::vector<GpuProfile>([] {
        std::vector<GpuProfile> made;
        for (const Model& model : models()) {
            const std::size_t first = made.size();
            for (const catalog::MigProfile& known : catalog::mig_profiles()) {
                if (known.family == family_of(model) && known.index) {
                    made.push_back(profile_of(model, known));
                }
            }
            std::ranges::sort(made.begin() + static_cast<std::ptrdiff_t>(first), made.end(), {},
                              &GpuProfile::index);
        }
        return made;
    }());
    return kProfiles;
}

/// NVML's numbers of compute instance profiles, by slices.
struct ComputeKind {
    unsigned id;
    unsigned slices;
    unsigned starts;
};
constexpr std::array<ComputeKind, 5> kComputeKinds = {
    {{0, 1, kAnySlice}, {1, 2, kLowPairs}, {2, 3, kHalves}, {3, 4, kFirst}, {4, 7, kFirst}}};

/// Multiprocessors of a plain instance with so many slices.
unsigned multiprocessors_of(const Model& model, unsigned slices) {
    for (const GpuProfile& profile : gpu_profiles(model)) {
        if (profile.slices == slices) return profile.multiprocessors;
    }
    // A30 has no 3g: slices of equal size.
    const auto first = gpu_profiles(model).front();
    return first.multiprocessors / first.slices * slices;
}

std::span<const GpuProfile> profiles_named(std::string_view model) {
    const std::vector<GpuProfile>& all = all_profiles();
    const auto first = std::ranges::find(all, model, &GpuProfile::model);
    const auto last =
        std::find_if(first, all.end(), [&](const GpuProfile& one) { return one.model != model; });
    return {first, last};
}

}  // namespace

unsigned GpuProfile::placement_count() const {
    return static_cast<unsigned>(std::popcount(starts));
}

std::span<const GpuProfile> gpu_profiles(const Model& model) {
    // Looked for with nearly every question to the driver: by the model's place among models().
    static const auto& kByModel = *new std::vector<std::span<const GpuProfile>>([] {
        std::vector<std::span<const GpuProfile>> made;
        for (const Model& one : models()) made.push_back(profiles_named(one.name));
        return made;
    }());
    const auto place = static_cast<std::size_t>(&model - models().data());
    return place < kByModel.size() ? kByModel[place] : profiles_named(model.name);
}

const GpuProfile* find_gpu_profile(const Model& model, unsigned id) {
    for (const GpuProfile& profile : gpu_profiles(model)) {
        if (profile.id == id) return &profile;
    }
    return nullptr;
}

const GpuProfile* find_gpu_profile_by_index(const Model& model, unsigned index) {
    for (const GpuProfile& profile : gpu_profiles(model)) {
        if (profile.index == index) return &profile;
    }
    return nullptr;
}

const GpuProfile* find_gpu_profile(const Model& model, std::string_view name) {
    for (const GpuProfile& profile : gpu_profiles(model)) {
        if (profile.name == name) return &profile;
    }
    return nullptr;
}

ComputeProfile compute_profile(const Model& model, const GpuProfile& within, unsigned id) {
    const auto* const kind = std::ranges::find(kComputeKinds, id, &ComputeKind::id);
    if (kind == kComputeKinds.end() || kind->slices > within.slices) return {};
    const bool full = kind->slices == within.slices;
    if (!full && kind->slices * 2 > within.slices + 1) return {};  // three of four
    ComputeProfile profile{.id = id, .slices = kind->slices};
    for (unsigned start = 0; start + kind->slices <= within.slices; ++start) {
        if ((kind->starts >> start & 1) == 0) continue;
        profile.starts |= 1U << start;
        ++profile.most;
    }
    profile.multiprocessors =
        full ? within.multiprocessors : multiprocessors_of(model, kind->slices);
    return profile;
}

ComputeProfile full_compute_profile(const Model& model, const GpuProfile& within) {
    const auto* const kind = std::ranges::find(kComputeKinds, within.slices, &ComputeKind::slices);
    return kind == kComputeKinds.end() ? ComputeProfile{}
                                       : compute_profile(model, within, kind->id);
}

std::string device_profile_name(const GpuProfile& within, unsigned slices) {
    const std::string prefix = slices == within.slices ? "" : std::to_string(slices) + "c.";
    return prefix + std::string(within.name);
}

unsigned memory_slices(const Model& model) {
    unsigned most = 0;
    for (const GpuProfile& profile : gpu_profiles(model)) most = std::max(most, profile.size);
    return most;
}

}  // namespace aliquot::sim
