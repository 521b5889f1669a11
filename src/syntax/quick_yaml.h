// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "document/value.h"

namespace aliquot::syntax {

/// Reads one document of the plain YAML that manifests are written in: block mappings and lists, scalars
/// and flow collections of one line, literal blocks. Ten times as fast as document::parse_yaml(), and gives
/// the very same node. Empty: there is something else in it, or something wrong; ask parse_yaml().
std::optional<document::Value> read_quick(std::string_view text);

}  // namespace aliquot::syntax
