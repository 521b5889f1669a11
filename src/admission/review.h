// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/gpu_node.h"
#include "admission/pod_patch.h"

namespace aliquot::admission {

/// What is decided of one pod.
struct Decision {
    bool allowed = true;
    int code = 0;         // of a refusal: 400 written wrongly, 422 strict and nothing fits
    std::string message;  // of a refusal: one line
    std::vector<std::string> warnings;
    std::string patch;  // a JSON array of operations; empty: nothing to do
};

/// pod   JSON of a Pod. Any bytes: what cannot be read is allowed as it is, with a warning.
Decision decide(std::string_view pod, const Cluster& cluster, const PatchOptions& options);

enum class ReviewResult : std::uint8_t {
    kUnchanged,
    kPatched,
    kRefused,
    kFailed,     // allowed as it is, because of a problem of ours
    kMalformed,  // no AdmissionReview: there is nobody to answer but HTTP
};
std::string_view to_text(ReviewResult result);

struct Review {
    ReviewResult result = ReviewResult::kMalformed;
    std::string body;  // the AdmissionReview to answer with; of kMalformed one line for people
};

/// Answers an AdmissionReview (admission.k8s.io/v1). Objects that are no pods, and what is not
/// created, are allowed as they are. Never throws.
/// body      any bytes; above kMostReviewBytes, or nested deeper than 64, is kMalformed
/// cluster   null: not known yet; pods are allowed as they are, with a warning
Review review(std::string_view body, const Cluster* cluster, const PatchOptions& options);

inline constexpr std::size_t kMostReviewBytes = std::size_t{3} << 20U;

}  // namespace aliquot::admission
