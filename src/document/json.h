// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "document/node.h"

namespace aliquot::document {

/// Reads one JSON text (or several one after another: then a sequence of them), fast: a saved cluster
/// has megabytes of it. Every value keeps its line.
/// errors   kInvalidInput: no JSON, with line; deeper than 64; more than two million values
Result<Node> parse_json(std::string_view text);

/// JSON, and when it is none, the first YAML document of the text (or a sequence of all).
Result<Node> parse_object(std::string_view text);

/// Writes a value as JSON, two blanks for each level, without a line break at the end. A number
/// or a bool stands as its `scalar` is written.
std::string to_json(const Node& node);
/// The same on one line. A number or a bool that only YAML spells so ("yes", "010") becomes a text.
std::string to_json_line(const Node& node);

/// For building values: numbers that need no quotes. A double has at most `digits` behind the
/// point and no zeros at its end.
Node make_integer(long long value);
Node make_number(double value, int digits = 4);
Node make_bool(bool value);

}  // namespace aliquot::document
