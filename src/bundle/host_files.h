// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace aliquot::bundle {

/// What doctor reads of a host: patterns in which '*' stands for any letters of one name. A pattern
/// that ends in '?' is only noted to be there.
std::span<const std::string_view> host_files();

}  // namespace aliquot::bundle
