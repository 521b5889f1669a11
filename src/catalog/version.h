// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::catalog {

/// A version of a driver, a CUDA toolkit or a compute capability: up to four numbers.
struct Version {
    std::array<unsigned, 4> parts{};

    friend auto operator<=>(const Version&, const Version&) = default;
    friend bool operator==(const Version&, const Version&) = default;
    [[nodiscard]] unsigned major() const { return parts[0]; }
    [[nodiscard]] unsigned minor() const { return parts[1]; }
};

/// Reads "535.104.05", "12.8", "v12.8.1", "R535"; what follows the numbers ("-server", "+1") does
/// not count. Empty when the text does not begin with a number.
std::optional<Version> parse_version(std::string_view text);

/// Negative, zero, positive as a is older, equal, newer; what is no version counts as 0.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace aliquot::catalog
