// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "document/value.h"

namespace aliquot::sizing {

/// "3.5 GiB".
std::string gib_text(double gib);

/// "131072" of "128k" or "128K": tokens are counted in 1024. What is no number before a k stays as it is.
std::string token_count(const std::string& text);

/// Dollars with two digits, four below one: "$0.7520/h" without the unit is "0.7520".
std::string money_text(double usd);

/// The number of a plain scalar; empty when it is none, not finite or negative.
std::optional<double> number_of(const document::Value* node);

/// The number under a key of a mapping; `otherwise` when there is none.
double number_at(const document::Value& mapping, std::string_view key, double otherwise = 0);

/// The text under a key of a mapping; empty when there is none.
std::string text_at(const document::Value& mapping, std::string_view key);

}  // namespace aliquot::sizing
