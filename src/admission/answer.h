// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admission/decision.h"

/// How every review of new pods is read and answered.
namespace aliquot::admission {

/// Objects of a review, and pods, may be nested as deep as this.
inline constexpr std::size_t kDeepest = 64;

/// How what is new is judged.
struct Judge {
    const char* subresource = "";  // of pods; empty: pods themselves
    std::function<Decision(const nlohmann::json& request)> decide;
    const char* unknown = "";  // why it cannot be judged when `decide` is empty
};

/// A refusal. code   400 written wrongly, 409 not there, 422 nothing fits
Decision refused(int code, std::string message);

Review review_by(std::string_view body, const Judge& judge);

}  // namespace aliquot::admission
