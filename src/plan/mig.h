// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "catalog/mig_profiles.h"

namespace aliquot::plan {

/// An instance at its place.
struct MigSlot {
    const catalog::MigProfile* profile = nullptr;
    unsigned start = 0;  // first memory slice
    friend bool operator==(const MigSlot&, const MigSlot&) = default;
};

using MigLayout = std::vector<MigSlot>;

/// Every valid layout of these profiles on one GPU, the empty one included: no two instances
/// overlap, starts are allowed ones, compute slices sum to at most those of the GPU, no profile
/// more often than allowed. A layout's slots are in the order of their starts.
std::vector<MigLayout> mig_layouts(std::span<const catalog::MigProfile* const> profiles);

/// Whether nothing of these profiles can be added to a layout.
bool is_maximal(const MigLayout& layout, std::span<const catalog::MigProfile* const> profiles);

/// Places exactly these instances on one GPU, or says that they do not fit together. Of all
/// placements the one that leaves the most room for further smallest instances. Exact: tries all.
/// wanted   at most 8; more never fit
std::optional<MigLayout> place_mig(std::span<const catalog::MigProfile* const> wanted);

/// A need of one instance: it may be served by any of these profiles, best first.
struct MigNeed {
    std::vector<const catalog::MigProfile*> choices;
};

/// Chooses one profile for each need so that all fit on one GPU; the first choices where that is
/// possible. Empty when there is none.
std::optional<MigLayout> place_needs(std::span<const MigNeed> needs);

/// The profiles of a model that hold this much memory and this share of the compute, smallest
/// first; without media-engine variants.
MigNeed mig_need(const catalog::GpuModel& model, double memory_gib, double compute_percent);

}  // namespace aliquot::plan
