// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "admission/choice.h"

namespace aliquot::admission {

struct PatchOptions {
    std::string runtime_class;  // empty: pods get none
};

/// The operations (RFC 6902) that put a choice into a pod; empty when all is there already. What the
/// pod says by itself is never changed, only added to.
/// warnings   gets what a person should know of it
nlohmann::json make_patch(const nlohmann::json& pod, const PodFacts& facts,
                          const GpuRequests& requests, const Choice& choice,
                          const PatchOptions& options, std::vector<std::string>& warnings);

}  // namespace aliquot::admission
