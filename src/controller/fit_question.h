// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <string>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::controller {

/// Whether pods that do not exist yet would have places.
struct FitQuestion {
    std::string name;                      // of the whole, for messages
    std::vector<scheduling::GpuPod> pods;  // all at once
    /// Others that are on their way; those of an owner that has as many in the books are there already.
    std::vector<scheduling::GpuPod> promised;
};

struct FitAnswer {
    scheduling::Decision::Kind kind = scheduling::Decision::Kind::kNotServed;
    bool beside_promised = true;     // kPlaced: also when the promised ones have theirs
    std::vector<std::string> nodes;  // kPlaced
    std::string why;                 // one line
};

}  // namespace aliquot::controller
