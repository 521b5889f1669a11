// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::cel {

/// A version as semver.org 2.0.0 writes it: "550.54.14", "1.0.0-rc.1+build".
struct Semver {
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    std::uint64_t patch = 0;
    std::vector<std::string> before;  // pre-release identifiers; none: the release itself
    std::string build;                // counts for nothing

    /// Empty: no version. Numbers have no leading zero and there are three of them.
    static std::optional<Semver> parse(std::string_view text);
    /// The same of a text that is made one first: a "v" before it, missing numbers, leading zeros.
    static std::optional<Semver> parse_lenient(std::string_view text);
    [[nodiscard]] std::string text() const;

    /// Precedence, in which the build has no part.
    friend std::strong_ordering operator<=>(const Semver& left, const Semver& right);
    friend bool operator==(const Semver& left, const Semver& right) {
        return (left <=> right) == std::strong_ordering::equal;
    }
};

}  // namespace aliquot::cel
