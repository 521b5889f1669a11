// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot {

/// Standard alphabet, padded, one line. source: RFC 4648, section 4
std::string encode_base64(std::string_view bytes);

}  // namespace aliquot
