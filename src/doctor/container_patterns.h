// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "doctor/check.h"

namespace aliquot::doctor {

/// What a container, an event or a status says when something failed, and what it really means.
struct ContainerPattern {
    std::string_view id;
    std::array<std::string_view, 8> texts;  // any of them, letters in any case; '*' for a gap
    std::string_view cause;
    std::string_view fix;
    std::string_view command;  // may be empty
    Outcome outcome = Outcome::kFailed;
    /// Ids whose failure is the cause.
    std::string_view after;
};

/// Sorted by id.
std::span<const ContainerPattern> container_patterns();

}  // namespace aliquot::doctor
