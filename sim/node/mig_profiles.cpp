// SPDX-License-Identifier: Apache-2.0
#include "sim/node/mig_profiles.h"

#include <algorithm>
#include <array>
#include <bit>

namespace aliquot::sim {
namespace {

// Where instances may begin, a bit for each memory slice.
constexpr unsigned kAnySlice = 0b111'1111;  // the eighth is reached by larger ones only
constexpr unsigned kPairs = 0b101'0101;
constexpr unsigned kLowPairs = 0b1'0101;
constexpr unsigned kHalves = 0b1'0001;
constexpr unsigned kFirst = 0b1;
constexpr unsigned kAnyOfFour = 0b1111;
constexpr unsigned kTwoPairs = 0b101;

// The columns are the fields of GpuProfile. Memory as the driver reports it; what is told of b200
// and of h100-96 was inferred from their families.
// clang-format off
constexpr GpuProfile kProfiles[] = {
    {"a30", "1g.6gb", 14, 0, 1, 1, kAnyOfFour, 4, 5952, 14, 1, 0, 0, 0},
    {"a30", "2g.12gb", 5, 1, 2, 2, kTwoPairs, 2, 11968, 28, 2, 2, 0, 0},
    {"a30", "4g.24gb", 0, 3, 4, 4, kFirst, 1, 24000, 56, 4, 4, 1, 1},
    {"a30", "1g.6gb+me", 21, 7, 1, 1, kAnyOfFour, 1, 5952, 14, 1, 1, 1, 1},
    {"a30", "2g.12gb+me", 6, 8, 2, 2, kTwoPairs, 1, 11968, 28, 2, 2, 1, 1},
    {"a100-40", "1g.5gb", 19, 0, 1, 1, kAnySlice, 7, 4864, 14, 1, 0, 0, 0},
    {"a100-40", "2g.10gb", 14, 1, 2, 2, kLowPairs, 3, 9856, 28, 2, 1, 0, 0},
    {"a100-40", "3g.20gb", 9, 2, 3, 4, kHalves, 2, 19968, 42, 3, 2, 0, 0},
    {"a100-40", "4g.20gb", 5, 3, 4, 4, kFirst, 1, 19968, 56, 4, 2, 0, 0},
    {"a100-40", "7g.40gb", 0, 4, 7, 8, kFirst, 1, 40192, 98, 7, 5, 1, 1},
    {"a100-40", "1g.5gb+me", 20, 7, 1, 1, kAnySlice, 1, 4864, 14, 1, 1, 1, 1},
    {"a100-40", "1g.10gb", 15, 9, 1, 2, kPairs, 4, 9856, 14, 1, 1, 0, 0},
    {"a100-80", "1g.10gb", 19, 0, 1, 1, kAnySlice, 7, 9856, 14, 1, 1, 0, 0},
    {"a100-80", "2g.20gb", 14, 1, 2, 2, kLowPairs, 3, 19968, 28, 2, 1, 0, 0},
    {"a100-80", "3g.40gb", 9, 2, 3, 4, kHalves, 2, 40192, 42, 3, 2, 0, 0},
    {"a100-80", "4g.40gb", 5, 3, 4, 4, kFirst, 1, 40192, 56, 4, 2, 0, 0},
    {"a100-80", "7g.80gb", 0, 4, 7, 8, kFirst, 1, 80384, 98, 7, 5, 1, 1},
    {"a100-80", "1g.10gb+me", 20, 7, 1, 1, kAnySlice, 1, 9856, 14, 1, 1, 1, 1},
    {"a100-80", "1g.20gb", 15, 9, 1, 2, kPairs, 4, 19968, 14, 1, 1, 0, 0},
    {"h100-80", "1g.10gb", 19, 0, 1, 1, kAnySlice, 7, 9984, 16, 1, 1, 1, 0},
    {"h100-80", "2g.20gb", 14, 1, 2, 2, kLowPairs, 3, 20096, 32, 2, 2, 2, 0},
    {"h100-80", "3g.40gb", 9, 2, 3, 4, kHalves, 2, 40448, 60, 3, 3, 3, 0},
    {"h100-80", "4g.40gb", 5, 3, 4, 4, kFirst, 1, 40448, 64, 4, 4, 4, 0},
    {"h100-80", "7g.80gb", 0, 4, 7, 8, kFirst, 1, 81152, 132, 8, 7, 7, 1},
    {"h100-80", "1g.10gb+me", 20, 7, 1, 1, kAnySlice, 1, 9984, 16, 1, 1, 1, 1},
    {"h100-80", "1g.20gb", 15, 9, 1, 2, kPairs, 4, 20096, 26, 1, 1, 1, 0},
    {"h100-94", "1g.12gb", 19, 0, 1, 1, kAnySlice, 7, 11008, 16, 1, 1, 1, 0},
    {"h100-94", "2g.24gb", 14, 1, 2, 2, kLowPairs, 3, 22144, 32, 2, 2, 2, 0},
    {"h100-94", "3g.47gb", 9, 2, 3, 4, kHalves, 2, 47488, 60, 3, 3, 3, 0},
    {"h100-94", "4g.47gb", 5, 3, 4, 4, kFirst, 1, 47488, 64, 4, 4, 4, 0},
    {"h100-94", "7g.94gb", 0, 4, 7, 8, kFirst, 1, 95360, 132, 8, 7, 7, 1},
    {"h100-94", "1g.12gb+me", 20, 7, 1, 1, kAnySlice, 1, 11008, 16, 1, 1, 1, 1},
    {"h100-94", "1g.24gb", 15, 9, 1, 2, kPairs, 4, 22144, 26, 1, 1, 1, 0},
    {"h100-96", "1g.12gb", 19, 0, 1, 1, kAnySlice, 7, 11008, 16, 1, 1, 1, 0},
    {"h100-96", "2g.24gb", 14, 1, 2, 2, kLowPairs, 3, 22144, 32, 2, 2, 2, 0},
    {"h100-96", "3g.48gb", 9, 2, 3, 4, kHalves, 2, 47488, 60, 3, 3, 3, 0},
    {"h100-96", "4g.48gb", 5, 3, 4, 4, kFirst, 1, 47488, 64, 4, 4, 4, 0},
    {"h100-96", "7g.96gb", 0, 4, 7, 8, kFirst, 1, 95360, 132, 8, 7, 7, 1},
    {"h100-96", "1g.12gb+me", 20, 7, 1, 1, kAnySlice, 1, 11008, 16, 1, 1, 1, 1},
    {"h100-96", "1g.24gb", 15, 9, 1, 2, kPairs, 4, 22144, 26, 1, 1, 1, 0},
    {"h200-141", "1g.18gb", 19, 0, 1, 1, kAnySlice, 7, 16384, 16, 1, 1, 1, 0},
    {"h200-141", "2g.35gb", 14, 1, 2, 2, kLowPairs, 3, 33280, 32, 2, 2, 2, 0},
    {"h200-141", "3g.71gb", 9, 2, 3, 4, kHalves, 2, 71424, 60, 3, 3, 3, 0},
    {"h200-141", "4g.71gb", 5, 3, 4, 4, kFirst, 1, 71424, 64, 4, 4, 4, 0},
    {"h200-141", "7g.141gb", 0, 4, 7, 8, kFirst, 1, 143360, 132, 8, 7, 7, 1},
    {"h200-141", "1g.18gb+me", 20, 7, 1, 1, kAnySlice, 1, 16384, 16, 1, 1, 1, 1},
    {"h200-141", "1g.35gb", 15, 9, 1, 2, kPairs, 4, 33280, 26, 1, 1, 1, 0},
    {"b200", "1g.23gb", 19, 0, 1, 1, kAnySlice, 7, 21184, 18, 2, 1, 1, 0},
    {"b200", "2g.45gb", 14, 1, 2, 2, kLowPairs, 3, 42368, 36, 3, 2, 2, 0},
    {"b200", "3g.90gb", 9, 2, 3, 4, kHalves, 2, 85696, 70, 6, 3, 3, 0},
    {"b200", "4g.90gb", 5, 3, 4, 4, kFirst, 1, 85696, 72, 8, 4, 4, 0},
    {"b200", "7g.180gb", 0, 4, 7, 8, kFirst, 1, 178176, 148, 16, 7, 7, 1},
    {"b200", "1g.23gb+me", 20, 7, 1, 1, kAnySlice, 1, 21184, 18, 2, 1, 1, 1},
    {"b200", "1g.45gb", 15, 9, 1, 2, kPairs, 4, 42368, 30, 2, 1, 1, 0},
};
// clang-format on

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

}  // namespace

unsigned GpuProfile::placement_count() const {
    return static_cast<unsigned>(std::popcount(starts));
}

std::span<const GpuProfile> gpu_profiles(const Model& model) {
    const auto* const first = std::ranges::find(kProfiles, model.name, &GpuProfile::model);
    const auto* const last = std::find_if(
        first, std::end(kProfiles), [&](const GpuProfile& p) { return p.model != model.name; });
    return {first, last};
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
