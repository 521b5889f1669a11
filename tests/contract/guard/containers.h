// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/contract/guard/probe.h"
#include "tests/contract/guard/worker.h"

/// Workers in containers of their own, which share a GPU.
namespace aliquot::guardkit::checks {

/// The word for a kernel of so long.
inline std::string launch(std::uint64_t milliseconds) {
    return "launch " + std::to_string(milliseconds * 1'000'000);
}

/// A worker that has called cuInit.
inline Worker started(const std::vector<std::string>& environment) {
    Worker worker = Worker::start({.environment = environment});
    CHECK_EQ(worker.number("init"), 0);
    return worker;
}

/// The environment of a container with a weight of 30 or 70; one of each is told its turns.
inline std::vector<std::string> own_region(const char* name, const char* weight) {
    return {"ALIQUOT_GUARD_REGION=" + environment("ALIQUOT_GUARD_REGION") + name,
            "ALIQUOT_GUARD_NODE=" + environment("ALIQUOT_GUARD_NODE") + "-" + weight,
            std::string("ALIQUOT_GUARD_WEIGHT=") + weight};
}

}  // namespace aliquot::guardkit::checks
