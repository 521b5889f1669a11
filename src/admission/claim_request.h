// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot::admission {

// On pods whose claim the controller makes once it has chosen a GPU for them.
inline constexpr char kClaimAnnotation[] =
    "aliquot.dev/claim";  // the wish: "memory=3Gi,compute=25", "mig=3g.20gb", "gpu,count=2"
/// The container that gets it; without one the first.
inline constexpr char kClaimContainerAnnotation[] = "aliquot.dev/claim-container";
/// As a label with the value "pinned": the webhook has named a claim for it.
inline constexpr char kClaimLabel[] = "aliquot.dev/claim";
inline constexpr char kPinned[] = "pinned";
inline constexpr char kClaimPrefix[] = "aq-";     // of the names of these claims
inline constexpr char kClaimInPod[] = "aliquot";  // its name in the pod's spec.resourceClaims

/// Parts of GPUs, whole ones, or MIG devices, all of one node.
struct ClaimRequest {
    std::uint64_t memory_bytes = 0;             // 0: all of a GPU or MIG device
    std::optional<unsigned> compute_percent{};  // of a part; empty: 100
    std::string mig_profile{};                  // "3g.20gb"; empty: no MIG device
    unsigned count = 1;  // GPUs, all different; MIG devices may be of one GPU
    [[nodiscard]] bool is_mig() const { return !mig_profile.empty(); }
    [[nodiscard]] bool is_whole() const { return memory_bytes == 0; }
    [[nodiscard]] unsigned percent() const { return compute_percent.value_or(100); }
    friend bool operator==(const ClaimRequest&, const ClaimRequest&) = default;
};

/// At most of one claim.
inline constexpr unsigned kMostClaimDevices = 16;

/// The value of kClaimAnnotation: "gpu", "mig=PROFILE", or "memory=AMOUNT" and perhaps "compute=PERCENT"; each perhaps with
/// "count=NUMBER"; in any order, with commas.
/// errors   kInvalidInput: one line with what is expected
Result<ClaimRequest> parse_claim_request(std::string_view text);

}  // namespace aliquot::admission
