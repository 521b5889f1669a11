// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace aliquot::agent {

/// Whether and how GPUs are handed out by ResourceClaims.
struct ClaimOptions {
    enum class Mode : std::uint8_t {
        kOff,    // by the device plugin
        kAuto,   // consumable where the API server keeps it, else fixed
        kWhole,  // as in dra::Mode
        kFixed,
        kConsumable,
        kDynamicMig,  // MIG-capable GPUs whole or in MIG devices, which are made for a claim; the others as kAuto
        kByLabel,  // as the Node's label says; without one off
    };
    Mode mode = Mode::kOff;
    std::string pod_uid;  // of the agent: POD_UID
};

}  // namespace aliquot::agent
