// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "document/build.h"

namespace aliquot::document {

/// Writes a value as YAML in block style, every line `indent` blanks in and ended by a line break.
/// Texts of several lines become literal blocks. Reading the result gives an equal value.
/// Comments, anchors and the original layout are lost.
std::string to_yaml(const Value& node, unsigned indent = 0);

/// A scalar as it may stand behind "key: ", quoted where it must be.
std::string scalar_text(const Value& scalar);

}  // namespace aliquot::document
