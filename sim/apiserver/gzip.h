// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::sim::apiserver {

/// Fast rather than small. Empty when zlib refuses.
std::string gzip(std::string_view bytes);

}  // namespace aliquot::sim::apiserver
