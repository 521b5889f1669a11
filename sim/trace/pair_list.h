// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aliquot::sim::trace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Reads "key=value;key=value", as labels, selectors, taints and tolerations stand in one field.
///
/// lone     what a key without "=" means as its value; nullptr: it is an error
/// errors   kInvalidInput: an empty key, a key twice, more than 64 pairs; the message has no place
Result<Pairs> parse_pairs(std::string_view text, const char* lone);

/// The parts of a list ("A10|T4"); none for an empty text.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

}  // namespace aliquot::sim::trace
