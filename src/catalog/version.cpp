// SPDX-License-Identifier: Apache-2.0
#include "catalog/version.h"

#include <charconv>
#include <system_error>

namespace aliquot::catalog {

std::optional<Version> parse_version(std::string_view text) {
    constexpr std::string_view kPrefixes = "vVrR";
    if (text.size() > 1 && kPrefixes.find(text.front()) != std::string_view::npos) {
        text.remove_prefix(1);
    }
    Version version;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < version.parts.size(); ++i) {
        const auto [stop, problem] = std::from_chars(at, end, version.parts[i]);
        if (problem != std::errc{}) {
            if (i == 0 || problem == std::errc::result_out_of_range) return std::nullopt;
            return version;
        }
        at = stop;
        if (at == end || *at != '.') break;
        ++at;
    }
    return version;
}

int compare_versions(std::string_view a, std::string_view b) {
    const auto order =
        parse_version(a).value_or(Version{}) <=> parse_version(b).value_or(Version{});
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace aliquot::catalog
