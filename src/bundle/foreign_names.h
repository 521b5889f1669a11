// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::bundle {

/// Where the tarballs of others keep what we know under another name; empty: nowhere.
std::string our_name(std::string_view path);

/// Whether a path is one of our own layout.
bool is_ours(std::string_view path);

}  // namespace aliquot::bundle
