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
    "aliquot.dev/claim";  // the wish: "memory=3Gi,compute=25"
/// The container that gets it; without one the first.
inline constexpr char kClaimContainerAnnotation[] = "aliquot.dev/claim-container";
/// As a label with the value "pinned": the webhook has named a claim for it.
inline constexpr char kClaimLabel[] = "aliquot.dev/claim";
inline constexpr char kPinned[] = "pinned";
inline constexpr char kClaimPrefix[] = "aq-";     // of the names of these claims
inline constexpr char kClaimInPod[] = "aliquot";  // its name in the pod's spec.resourceClaims

/// A part of a GPU, or a whole one.
struct ClaimWish {
    std::uint64_t memory_bytes = 0;             // 0: all of a GPU
    std::optional<unsigned> compute_percent{};  // of a part; empty: 100
    [[nodiscard]] bool is_whole() const { return memory_bytes == 0; }
    [[nodiscard]] unsigned percent() const { return compute_percent.value_or(100); }
    friend bool operator==(const ClaimWish&, const ClaimWish&) = default;
};

/// The value of kClaimAnnotation: "gpu", or "memory=AMOUNT" and perhaps ",compute=PERCENT" in any order.
/// errors   kInvalidInput: one line with what is expected
Result<ClaimWish> parse_claim_wish(std::string_view text);

}  // namespace aliquot::admission
