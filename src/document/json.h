// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "document/build.h"

namespace aliquot::document {

struct JsonLimits {
    unsigned depth = 64;
    bool several = true;  // texts one after another, read as a sequence of them
};

/// Reads a JSON text (RFC 8259), fast: a saved cluster has megabytes of it. Every value keeps its line. Half a
/// surrogate pair becomes U+FFFD, as in Go; what is no UTF-8 stays as it is.
/// errors   kInvalidInput: no JSON, with line; deeper than the limit; more than two million values; a number
///          that no double holds
Result<Value> parse_json(std::string_view text, JsonLimits limits = {});

/// JSON, and when it is none, the first YAML document of the text (or a sequence of all).
Result<Value> parse_object(std::string_view text);

/// Writes a value as JSON, two blanks for each level, without a line break at the end. A number or a bool
/// that only YAML spells so ("yes", "010", ".5") becomes a text.
std::string to_json(const Value& node);
/// The same on one line, without blanks.
std::string to_json_line(const Value& node);

}  // namespace aliquot::document
