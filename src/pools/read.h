// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"
#include "pools/pool.h"
#include "pools/problem.h"

namespace aliquot::pools {

struct ReadPools {
    std::vector<Pool> pools;  // those without errors
    std::vector<Problem> problems;

    [[nodiscard]] bool has_errors() const;
};

/// Reads a pool file: one or more YAML documents of kind Pool (aliquot.dev/v1alpha1). Any bytes are answered;
/// unknown keys, wrong types and numbers outside their limits are errors with line and column.
ReadPools read_pools(std::string_view text);

/// The same of one object, as the API server has it: its status and the rest of its metadata are passed over.
ReadPools read_pool(const document::Value& object);

/// "pool.yaml:7:3: error: ...", one a line, in the order of their places.
std::string text_of(std::string_view file, const std::vector<Problem>& problems);

}  // namespace aliquot::pools
