// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/resource_name.h"

#include <algorithm>
#include <string>

namespace aliquot::sim {
namespace {

constexpr std::size_t kNameLimit = 63;
constexpr std::size_t kDomainLimit = 253;
constexpr std::string_view kQuotaPrefix = "requests.";

// Not <cctype>: the locale has no say here.
bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view name) {
    if (name.empty() || name.size() > kNameLimit) return false;
    if (!is_alphanumeric(name.front()) || !is_alphanumeric(name.back())) return false;
    return std::ranges::all_of(
        name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_domain(std::string_view domain) {
    if (domain.empty() || domain.size() > kDomainLimit) return false;
    while (true) {
        const auto dot = domain.find('.');
        const std::string_view label = domain.substr(0, dot);
        if (label.empty() || !is_lower(label.front()) || !is_lower(label.back())) return false;
        if (!std::ranges::all_of(label, [](char c) { return is_lower(c) || c == '-'; })) {
            return false;
        }
        if (dot == std::string_view::npos) return true;
        domain.remove_prefix(dot + 1);
    }
}

}  // namespace

bool is_extended_resource_name(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == std::string_view::npos || name.find('/', slash + 1) != std::string_view::npos) {
        return false;
    }
    if (name.find("kubernetes.io/") != std::string_view::npos) return false;
    if (name.starts_with(kQuotaPrefix)) return false;
    const std::string domain = std::string(kQuotaPrefix).append(name.substr(0, slash));
    return is_domain(domain) && is_name(name.substr(slash + 1));
}

}  // namespace aliquot::sim
