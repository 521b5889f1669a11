// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "document/value.h"

namespace aliquot::pools {

/// What is wrong with a pool, or only remarkable, with its place.
struct Problem {
    document::Mark mark;
    std::string message;
    bool is_warning = false;
    friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace aliquot::pools
