// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/root.h"

namespace aliquot::pods {

/// What kubelet has written down of a ResourceClaim that a driver has prepared: it holds these devices until kubelet has
/// the driver take them back.
struct ClaimHold {
    std::string claim;   // "ai/trainer-gpu-x7k2p"
    std::string driver;  // "gpu.aliquot.dev"
    std::vector<std::string>
        ids;  // of CDI, without "vendor/class=", sorted, each once; empty: not prepared yet
    friend bool operator==(const ClaimHold&, const ClaimHold&) = default;
    friend auto operator<=>(const ClaimHold&, const ClaimHold&) = default;
};

inline constexpr std::size_t kMostClaimStateBytes = 16U << 20U;
inline constexpr std::size_t kMostClaims = 20'000;
inline constexpr const char* kClaimState = "/var/lib/kubelet/dra_manager_state";

/// Reads the text of kubelet's dra_manager_state (checkpoint.dra.kubelet.k8s.io/v1, Kubernetes 1.34 and newer). Unlike
/// parse_checkpoint() it passes nothing over: who decides that a GPU is free has to know all.
/// returns  sorted by claim and driver
/// errors   kInvalidInput: no such text, or too much of it
Result<std::vector<ClaimHold>> parse_claim_state(std::string_view text);

/// The same of the file; one that is not there is a kubelet that has prepared no claim.
/// errors   kInvalidInput, and those of reading
Result<std::vector<ClaimHold>> read_claim_state(const os::Root& root,
                                                const std::string& path = kClaimState);

}  // namespace aliquot::pods
