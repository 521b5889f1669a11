// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "document/value.h"
#include "grant/limits.h"

namespace aliquot::dra {

/// What a class or a claim says about our devices besides their size: opaque.parameters.
struct GpuConfig {
    enum class Kind : std::uint8_t { kGpu, kMig };
    Kind kind = Kind::kGpu;
    /// `guard`: what the claim is held to where the device has no consumable capacity; its weight everywhere.
    grant::Limits limits;
    friend bool operator==(const GpuConfig&, const GpuConfig&) = default;
};

/// Reads `kind: GpuConfig` or `MigDeviceConfig` of resource.aliquot.dev/v1beta1, strictly.
/// errors   kInvalidInput: "GpuConfig: sharing.strategy: 'Slices' is no strategy; TimeSlicing is one";
///          kUnsupported: what NVIDIA's driver does and this one does not: MPS
Result<GpuConfig> read_gpu_config(const document::Value& parameters);

}  // namespace aliquot::dra
