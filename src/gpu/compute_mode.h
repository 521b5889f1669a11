// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// How many processes may compute on a GPU. It lasts until the driver is unloaded or the GPU reset.
/// source   NVML, nvmlComputeMode_t
enum class ComputeMode : std::uint8_t {
    kDefault,           // any number
    kExclusiveThread,   // of old drivers
    kProhibited,        // none
    kExclusiveProcess,  // one; under MPS that one is the MPS server
};

/// "default", "exclusive-thread", "prohibited", "exclusive-process".
constexpr std::string_view to_text(ComputeMode mode) {
    switch (mode) {
        case ComputeMode::kDefault:
            return "default";
        case ComputeMode::kExclusiveThread:
            return "exclusive-thread";
        case ComputeMode::kProhibited:
            return "prohibited";
        case ComputeMode::kExclusiveProcess:
            return "exclusive-process";
    }
    return "";
}

constexpr std::optional<ComputeMode> parse_compute_mode(std::string_view text) {
    for (const auto mode : {ComputeMode::kDefault, ComputeMode::kExclusiveThread,
                            ComputeMode::kProhibited, ComputeMode::kExclusiveProcess}) {
        if (text == to_text(mode)) return mode;
    }
    return std::nullopt;
}

/// The seam to what MPS changes of a GPU. Thread-safe; a call ends within the implementation's
/// deadline (kUnavailable).
/// errors   kNotFound: no such GPU; kPermission: setting it needs root (CAP_SYS_ADMIN);
///          kUnsupported; kUnavailable: the driver does not answer, the GPU is lost
class ComputeModes {
public:
    virtual ~ComputeModes() = default;
    virtual Result<ComputeMode> compute_mode(const Uuid& gpu) = 0;
    virtual Result<Done> set_compute_mode(const Uuid& gpu, ComputeMode mode) = 0;
};

}  // namespace aliquot::gpu
