// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grant/mechanism.h"
#include "node/gpu_node.h"

namespace aliquot::verify {

/// What test pods ask a node for by a ResourceClaim.
struct ClaimRequest {
    std::string device_class;  // empty: they ask for an extended resource
    std::string memory{};      // of a device that several claims share; empty: all of a device
    std::string compute{};
    friend bool operator==(const ClaimRequest&, const ClaimRequest&) = default;
};

/// What the test pods of a node ask for, one device or a part of one, and what is known of it.
struct Wanted {
    std::string text;        // "one nvidia.com/gpu", "1Gi of gpu.aliquot.dev by claim"
    std::string resource{};  // extended resource; empty: by `claim`
    ClaimRequest claim{};
    bool told = false;  // somebody says what a share is
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    unsigned kinds = 0;            // of devices that there are
    std::uint64_t memory_mib = 0;  // of a share of the only kind
    bool several = false;          // a second pod fits on a GPU beside the first
    /// Of what a newer agent says in a word that we do not know, the probe expects nothing.
    [[nodiscard]] grant::Mechanism known_mechanism() const {
        return mechanism == grant::Mechanism::kUnknown ? grant::Mechanism::kNone : mechanism;
    }
};

/// All that a node offers: its extended resources by name, then what drivers hand out by claims. Pure.
std::vector<Wanted> wanted_of(const node::GpuNode& node);

}  // namespace aliquot::verify
