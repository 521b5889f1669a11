// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/names.h"

#include <algorithm>

namespace aliquot::sim::apiserver {

std::string check_path_segment(std::string_view name) {
    if (name == "." || name == "..") return "may not be '" + std::string(name) + "'";
    if (name.find('/') != std::string_view::npos) return "may not contain '/'";
    if (name.find('%') != std::string_view::npos) return "may not contain '%'";
    return "";
}

std::string check_env_name(std::string_view name) {
    const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
        return c >= ' ' && c <= '~' && c != '=';
    });
    return good ? ""
                : "a valid environment variable name must consist only of printable ASCII "
                  "characters other than '='";
}

}  // namespace aliquot::sim::apiserver
