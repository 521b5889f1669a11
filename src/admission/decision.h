// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::admission {

/// What is decided of one pod.
struct Decision {
    bool allowed = true;
    int code = 0;         // of a refusal: 400 written wrongly, 422 strict and nothing fits
    std::string message;  // of a refusal: one line
    std::vector<std::string> warnings;
    std::string patch;  // a JSON array of operations; empty: nothing to do
};

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

inline constexpr std::size_t kMostReviewBytes = std::size_t{3} << 20U;

}  // namespace aliquot::admission
