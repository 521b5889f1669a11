// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::sim::apiserver {

/// A quantity ("0.5", "1024Mi", "1e3") in the one spelling that API servers answer with ("500m",
/// "1Gi", "1e3"); nullopt: it is none.
std::optional<std::string> canonical_amount(std::string_view text);

/// Its value as a number; nullopt: it is none.
std::optional<double> amount_value(std::string_view text);

}  // namespace aliquot::sim::apiserver
