// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "document/value.h"

namespace aliquot::document {

/// What an unquoted scalar means in the YAML 1.2 core schema: never kSequence or kMapping.
Value::Kind resolve_plain(std::string_view text);

/// Whether the word is a number of JSON, which has fewer spellings. source: RFC 8259, section 6
bool is_json_number(std::string_view word);

}  // namespace aliquot::document
