// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/node/model.h"

/// In which ways a model can be cut by MIG, as its driver tells: rows of data/mig_profiles.tsv.
namespace aliquot::sim {

/// One kind of GPU instance.
struct GpuProfile {
    std::string_view model;  // table name
    std::string_view name;   // "1g.5gb+me"
    unsigned id;             // what create takes
    unsigned index;          // NVML's enumeration: what the profile info calls take
    unsigned slices;         // compute slices
    unsigned size;           // memory slices
    unsigned starts = 0;     // bit n: may begin at memory slice n
    unsigned most;           // instances of it on one GPU
    unsigned memory_mib;
    unsigned multiprocessors;
    unsigned copy_engines;
    unsigned decoders;
    unsigned jpegs;
    unsigned flows;  // optical flow accelerators

    [[nodiscard]] bool media() const { return name.ends_with("+me"); }
    [[nodiscard]] bool starts_at(unsigned slice) const {
        return slice < 32 && (starts >> slice & 1) != 0;
    }
    [[nodiscard]] unsigned placement_count() const;
};

/// The profiles of a model, by NVML's enumeration; none: the model has no MIG.
std::span<const GpuProfile> gpu_profiles(const Model& model);
const GpuProfile* find_gpu_profile(const Model& model, unsigned id);
const GpuProfile* find_gpu_profile_by_index(const Model& model, unsigned index);
const GpuProfile* find_gpu_profile(const Model& model, std::string_view name);

/// One kind of compute instance inside a GPU instance of `within`. Its engines are shared: those of
/// the GPU instance.
struct ComputeProfile {
    unsigned id = 0;  // also NVML's enumeration
    unsigned slices = 0;
    unsigned most = 0;    // instances of it in one GPU instance
    unsigned starts = 0;  // bit n: may begin at compute slice n
    unsigned multiprocessors = 0;
};

/// By id; empty id list ends where find_compute_profile() finds none. nullopt-like: slices 0 means
/// that the GPU instance has no such profile.
ComputeProfile compute_profile(const Model& model, const GpuProfile& within, unsigned id);

/// The profile that fills the GPU instance.
ComputeProfile full_compute_profile(const Model& model, const GpuProfile& within);

/// "3g.20gb", or "1c.3g.20gb" for less than all of it.
std::string device_profile_name(const GpuProfile& within, unsigned slices);

/// Memory slices of the whole GPU; 0: no MIG.
unsigned memory_slices(const Model& model);

}  // namespace aliquot::sim
