// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::trace {

/// A text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// A number with at most so many decimals, without zeros at its end: 95.6, 100, -0.25.
std::string decimal_text(double value, int decimals);

/// The same with exactly so many: "95.60".
std::string fixed_text(double value, int decimals);

}  // namespace aliquot::trace
