// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/expression.h"

namespace aliquot::cel {

/// Form only: no function or name is looked up.
Result<Node> parse_nodes(std::string_view text);

/// What parse() says about names and calls.
Result<Done> check_names(std::string_view text, const Node& root,
                         const std::vector<std::string>& variables);

}  // namespace aliquot::cel
