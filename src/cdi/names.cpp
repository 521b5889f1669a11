// SPDX-License-Identifier: Apache-2.0
#include "cdi/names.h"

#include <algorithm>

namespace aliquot::cdi {
namespace {

// Not isalpha(): that one asks the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_letter_or_digit(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

bool consists_of(std::string_view text, std::string_view punctuation) {
    return std::ranges::all_of(
        text, [&](char c) { return is_letter_or_digit(c) || punctuation.contains(c); });
}

/// The length of the UTF-8 character at the start of `text`; 0 when it is malformed.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    std::size_t length = 0;
    if (lead >= 0xC2 && lead <= 0xDF) length = 2;
    if (lead >= 0xE0 && lead <= 0xEF) length = 3;
    if (lead >= 0xF0 && lead <= 0xF4) length = 4;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xC0U) != 0x80) return 0;
    }
    const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
    return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

bool is_vendor_or_class(std::string_view name) {
    return !name.empty() && is_letter(name.front()) && is_letter_or_digit(name.back()) &&
           consists_of(name, "_-.");
}

bool is_device_name(std::string_view name) {
    return !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
           consists_of(name, "_-.:");
}

bool is_environment_entry(std::string_view entry) {
    const std::size_t equals = entry.find('=');
    return equals != std::string_view::npos && equals > 0;
}

bool is_permissions(std::string_view permissions) {
    return std::ranges::all_of(permissions, [&](char c) {
        return std::string_view("rwm").contains(c) && std::ranges::count(permissions, c) == 1;
    });
}

bool is_hook_name(std::string_view name) {
    constexpr std::array<std::string_view, 6> kHooks{
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    return std::ranges::find(kHooks, name) != kHooks.end();
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::optional<Kind> split_kind(std::string_view kind) {
    const std::size_t slash = kind.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    return Kind{.vendor = kind.substr(0, slash), .device_class = kind.substr(slash + 1)};
}

std::optional<std::size_t> version_rank(std::string_view version) {
    const auto* const found = std::ranges::find(kVersions, version);
    if (found == kVersions.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kVersions.begin());
}

}  // namespace aliquot::cdi
