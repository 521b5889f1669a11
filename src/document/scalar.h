// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "document/node.h"

namespace aliquot::document {

/// What an unquoted scalar means in the YAML 1.2 core schema: never kSequence or kMapping.
Node::Kind resolve_plain(std::string_view text);

}  // namespace aliquot::document
