// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/gpu_models.h"

namespace aliquot::catalog {

/// One way to cut an instance out of a GPU.
struct MigProfile {
    std::string_view family;  // of GpuModel::mig_family
    std::string_view name;    // "1g.10gb", "1g.10gb+me"
    std::string_view id;      // "19", as `nvidia-smi mig -cgi` takes it; "~19": inferred; or empty
    unsigned slices = 0;      // compute slices
    unsigned memory_slices = 0;  // length of a placement
    unsigned most = 0;           // instances of it on one GPU
    double memory_gib = 0;       // of one instance
    bool memory_inferred = false;
    unsigned multiprocessors = 0;   // 0: not known
    std::vector<unsigned> starts;   // allowed first memory slices
    std::optional<unsigned> index;  // NVML's enumeration; none: not known, nor is what follows
    unsigned memory_mib = 0;        // of one instance, as the driver reports it
    unsigned copy_engines = 0;
    unsigned decoders = 0;
    unsigned jpegs = 0;
    unsigned flows = 0;  // optical flow accelerators
};

/// All profiles; those of one family stand together, small ones first.
std::span<const MigProfile> mig_profiles();

/// The profiles of one model; none when it has no MIG or only the driver knows them.
std::span<const MigProfile> mig_profiles(const GpuModel& model);

/// Compute slices of a whole GPU: 7, or 4 of an A30; 0 where the function above gives no profiles.
unsigned mig_slices(const GpuModel& model);

/// The profile with this name on this model; "mig-1g.10gb.me", "1g.10gb.me" and "1g.10gb+me" are
/// one. nullptr when there is none.
const MigProfile* find_mig_profile(const GpuModel& model, std::string_view name);

/// A slice as people name it: "a100-80 1g.10gb", "H100 MIG 3g.40gb", "1g.10gb".
struct MigSlice {
    const MigProfile* profile = nullptr;  // null: no slice is named
    const GpuModel* model = nullptr;      // that has it; the one with least memory if none is named
};

/// The model is null where a GPU is named that has no such slice or is not known.
MigSlice find_mig_slice(std::string_view text);

/// The extended resource of a profile under strategy mixed: "nvidia.com/mig-1g.10gb.me".
std::string mig_resource(const MigProfile& profile);

}  // namespace aliquot::catalog
