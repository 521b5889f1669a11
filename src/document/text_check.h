// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "document/yaml.h"

namespace aliquot::document {

/// The first byte that no YAML text may have: a control character (NUL, escape, ...) or a byte
/// that is no UTF-8. yaml-cpp would take some of them for the end of the text.
std::optional<SyntaxError> find_forbidden_byte(std::string_view text);

/// The place of a tab among the leading blanks of line `line` (from 1); line 0 when there is none.
Mark find_tab_indent(std::string_view text, unsigned line);

/// What is said of it.
std::string tab_message(unsigned line);

/// One line of a text, from 1, without its line break; empty when there is no such line.
std::string_view line_of(std::string_view text, unsigned line);

}  // namespace aliquot::document
