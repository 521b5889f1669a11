// SPDX-License-Identifier: Apache-2.0
#include "k8s/names.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::k8s {
namespace {

constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kQualifiedRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool is_part(std::string_view name) {
    return !name.empty() && is_lower_or_digit(name.front()) && is_lower_or_digit(name.back()) &&
           std::ranges::all_of(name, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_qualified(std::string_view name) {
    return !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
           std::ranges::all_of(name, [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

std::string too_long(std::size_t most) {
    return "must be no more than " + std::to_string(most) + " bytes";
}

}  // namespace

std::string check_dns_label(std::string_view name) {
    if (name.size() > 63) return too_long(63);
    return is_part(name) ? "" : std::string(kLabelRule);
}

std::string check_dns_subdomain(std::string_view name) {
    if (name.size() > 253) return too_long(253);
    while (true) {
        const std::size_t dot = name.find('.');
        if (!is_part(name.substr(0, dot))) return std::string(kSubdomainRule);
        if (dot == std::string_view::npos) return "";
        name.remove_prefix(dot + 1);
    }
}

std::string check_label_key(std::string_view key) {
    const std::size_t slash = key.find('/');
    std::string_view name = key;
    if (slash != std::string_view::npos) {
        const std::string_view prefix = key.substr(0, slash);
        name = key.substr(slash + 1);
        if (prefix.empty()) return "prefix part must be non-empty";
        if (const std::string why = check_dns_subdomain(prefix); !why.empty()) {
            return "prefix part " + why;
        }
    }
    if (name.empty()) return "name part must be non-empty; " + std::string(kQualifiedRule);
    if (name.size() > 63) return "name part " + too_long(63);
    return is_qualified(name) ? "" : std::string(kQualifiedRule);
}

std::string check_label_value(std::string_view value) {
    if (value.size() > 63) return too_long(63);
    return value.empty() || is_qualified(value) ? "" : std::string(kValueRule);
}

}  // namespace aliquot::k8s
