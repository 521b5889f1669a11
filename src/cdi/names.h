// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

/// The words of the CDI schema that reading, checking and writing share.
namespace aliquot::cdi {

/// A letter, then letters, digits, '_', '-', '.', a letter or digit at the end: a vendor or class.
bool is_vendor_or_class(std::string_view name);

/// A letter or digit at both ends, between them also '_', '-', '.', ':'.
bool is_device_name(std::string_view name);

/// "NAME=value" with a name.
bool is_environment_entry(std::string_view entry);

/// At most one of each of r, w, m.
bool is_permissions(std::string_view permissions);

bool is_hook_name(std::string_view name);

/// Well-formed UTF-8: JSON cannot carry anything else.
bool is_utf8(std::string_view text);

/// "vendor/class" taken apart at the first slash; empty when there is none.
struct Kind {
    std::string_view vendor;
    std::string_view device_class;
};
std::optional<Kind> split_kind(std::string_view kind);

/// Every released cdiVersion that we read, oldest first.
inline constexpr std::array<std::string_view, 8> kVersions{"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                           "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

/// Its place in kVersions; empty when it is none of them.
std::optional<std::size_t> version_rank(std::string_view version);

}  // namespace aliquot::cdi
