// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace aliquot {

/// Whether objects and lists in this JSON text stand deeper in each other than `most`: to be asked before others' text
/// is read by something that goes down by recursion. Any bytes.
bool is_nested_deeper(std::string_view json, std::size_t most);

}  // namespace aliquot
