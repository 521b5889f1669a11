// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "document/node.h"

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
    std::vector<Node> documents;
    std::vector<SyntaxError> errors;  // at most one; what stands before it is in `documents`
};

/// Reads YAML 1.2 (and so JSON). Never throws; any bytes are accepted and answered.
Stream parse_yaml(std::string_view text, const Limits& limits = {});

/// Reads the YAML inside a block scalar (a ConfigMap's `data` value) so that every mark is a place
/// of the outer text. For a scalar that is not a block scalar marks point at the scalar itself.
/// outer    the text that `scalar` was read from
Stream parse_embedded(std::string_view outer, const Node& scalar, const Limits& limits = {});

}  // namespace aliquot::document
