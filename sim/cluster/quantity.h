// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aliquot::sim::cluster {

/// An amount as Kubernetes writes it, in thousandths and rounded up: "500m" is 500, "2" is 2000,
/// "1Gi" is 2^30 * 1000. Empty: not a quantity, or beyond 2^63.
/// source   Kubernetes resource.Quantity: n u m k M G T P E, Ki ... Ei, decimal exponents
std::optional<std::int64_t> parse_quantity_milli(std::string_view text);

}  // namespace aliquot::sim::cluster
