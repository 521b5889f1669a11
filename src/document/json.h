// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "document/node.h"

namespace aliquot::document {

/// Writes a value as JSON, two blanks for each level, without a line break at the end. A number
/// or a bool stands as its `scalar` is written.
std::string to_json(const Node& node);

/// For building values: numbers that need no quotes. A double has at most `digits` behind the
/// point and no zeros at its end.
Node make_integer(long long value);
Node make_number(double value, int digits = 4);
Node make_bool(bool value);

}  // namespace aliquot::document
