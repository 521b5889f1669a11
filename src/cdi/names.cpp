// SPDX-License-Identifier: Apache-2.0
#include "cdi/names.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::cdi {
namespace {

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool consists_of(std::string_view text, std::string_view punctuation) {
    return std::ranges::all_of(
        text, [&](char c) { return is_letter_or_digit(c) || punctuation.contains(c); });
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
        const std::size_t length = utf8_length(text);
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
