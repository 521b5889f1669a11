// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/version.h"

namespace aliquot::catalog {

enum class MpsClass : std::uint8_t {
    kOld,     // before Volta: 16 clients, no limits, one fault hits all
    kLimits,  // Volta and newer: 48 clients, memory and thread limits
};

/// One GPU model as a table knows it. A running driver knows better; use this where there is none.
/// The texts live as long as the program.
struct GpuModel {
    std::string_view key;   // "a100-80", "gtx-1070": what --gpu takes
    std::string_view name;  // "NVIDIA A100 SXM4 80GB"
    std::vector<std::string_view> aliases;
    std::vector<std::string_view> pci_ids;  // "20b2", under vendor 10de
    std::string_view architecture;          // "Ampere"
    Version compute;                        // compute capability: 8.0
    double memory_gib = 0;                  // of one GPU, as sold
    unsigned gpus_per_board = 1;
    unsigned memory_mib = 0;      // of one GPU as the driver tells it; 0: not known
    std::string_view mig_family;  // for mig_profiles(); "ask": only the driver knows; empty: none
    MpsClass mps = MpsClass::kOld;
    std::string_view nvlink;      // "600", "bridge", "bridge:200", "c2c" or empty
    unsigned last_branch = 0;     // of drivers for it: 470; 0: those of today have it
    std::string_view min_driver;  // empty: not known to matter
    unsigned tdp_watts = 0;       // 0: not known, as of the two below
    unsigned cuda_cores = 0;
    unsigned tensor_cores = 0;

    [[nodiscard]] bool has_mig() const { return !mig_family.empty(); }
    /// The catalogue has them, and mig_profiles() tells.
    [[nodiscard]] bool has_known_mig() const { return has_mig() && mig_family != "ask"; }
};

/// All models, oldest architecture first. Read once, at the first call; any thread.
std::span<const GpuModel> gpu_models();

/// The model that a person, a driver or a node label means: "GTX 1070", "gtx1070",
/// "NVIDIA A2", "Tesla-T4", "NVIDIA-A100-SXM4-80GB-SHARED", "rtx_3090 24GB"; nullptr when there is
/// none. A bare name means the smaller or the more usual variant: "v100" is the 16 GB one.
const GpuModel* find_gpu_model(std::string_view text);

/// The model with this name whose memory is nearest: ("a100", 81920) is a100-80.
/// memory_mib   0: do not look at it
const GpuModel* find_gpu_model(std::string_view text, unsigned memory_mib);

/// The models with this PCI device id ("20b2", "0x20B2", "0x20B210DE"); several share some ids.
std::vector<const GpuModel*> gpu_models_with_pci_id(std::string_view id);

/// The key that is most like an unknown name, for "did you mean ...?"; empty when none is near.
std::string_view nearest_gpu_model(std::string_view text);

/// The form in which two spellings of one model are equal: "NVIDIA GeForce RTX 3090" and
/// "rtx_3090" are both "rtx3090", "A100-SXM4-80GB" is "a100sxm480".
std::string plain_gpu_name(std::string_view text);

}  // namespace aliquot::catalog
