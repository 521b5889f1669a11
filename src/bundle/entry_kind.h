// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "bundle/tree.h"

namespace aliquot::bundle {

/// "file", "directory", "link", "device", "socket", "unreadable".
std::string_view word_of(Entry::Kind kind);
/// kFile for a word that is none of them.
Entry::Kind kind_of(std::string_view word);

}  // namespace aliquot::bundle
