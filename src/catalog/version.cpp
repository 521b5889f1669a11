// SPDX-License-Identifier: Apache-2.0
#include "catalog/version.h"

#include "base/number.h"
#include "base/text.h"

namespace aliquot::catalog {

std::optional<Version> parse_version(std::string_view text) {
    constexpr std::string_view kPrefixes = "vVrR";
    if (text.size() > 1 && kPrefixes.find(text.front()) != std::string_view::npos) {
        text.remove_prefix(1);
    }
    Version version;
    for (std::size_t i = 0; i < version.parts.size(); ++i) {
        const bool digits = !text.empty() && is_digit(text.front());
        const auto part = take_number<unsigned>(text);
        if (!part) return i == 0 || digits ? std::nullopt : std::optional(version);
        version.parts[i] = *part;
        if (!text.starts_with('.')) break;
        text.remove_prefix(1);
    }
    return version;
}

int compare_versions(std::string_view a, std::string_view b) {
    const auto order =
        parse_version(a).value_or(Version{}) <=> parse_version(b).value_or(Version{});
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace aliquot::catalog
