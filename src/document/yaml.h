// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "document/value.h"

namespace aliquot::document {

/// What a text may have at most; a larger one is refused, whatever it says.
struct Limits {
    std::size_t bytes = 4U << 20U;
    std::size_t nodes = 200'000;  // with every alias expanded
    unsigned depth = 64;
};

/// A text that is no YAML: one line with its place.
struct SyntaxError {
    Mark mark;
    std::string message;  // "tab in the indentation", "mapping key without ':'"
};

/// The documents of one text, in order. A document that is empty or only comments is a kNull node.
struct Stream {
    std::vector<Value> documents;
    std::vector<SyntaxError> errors;  // at most one; what stands before it is in `documents`
};

/// Reads YAML 1.2 (and so JSON). Never throws; any bytes are accepted and answered.
///
/// Aliases are replaced by a copy of what they name, with the marks of the original. Merge keys
/// (`<<`) stay plain entries, duplicate keys stay. Columns count bytes; a byte order mark is no
/// part of the first line. A value that is not written at all (`key:`) has the mark of its key. An
/// empty text is one kNull document.
/// errors   besides broken YAML: bytes that are no UTF-8, control characters, limits exceeded
Stream parse_yaml(std::string_view text, const Limits& limits = {});

/// Reads the YAML inside a block scalar (a ConfigMap's `data` value) so that every mark is a place
/// of the outer text. For a scalar that is not a block scalar marks point at the scalar itself;
/// so they do for a folded one (>), whose lines are no lines of the outer text.
/// outer    the text that `scalar` was read from
Stream parse_embedded(std::string_view outer, const Value& scalar, const Limits& limits = {});

}  // namespace aliquot::document
