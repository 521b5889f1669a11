// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Small readings of text that the facts are made of. Pure.
namespace aliquot::doctor {

std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

/// Calls `each` with every line (without its break) and its number from 1.
void for_each_line(std::string_view text,
                   const std::function<void(std::string_view, unsigned)>& each);

/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view line);
std::vector<std::string_view> split(std::string_view text, char separator);

/// Letters in any case (ASCII).
bool contains_folded(std::string_view text, std::string_view part);

/// The parts one behind the other.
std::string joined(std::initializer_list<std::string_view> parts);

/// Decimal, the whole text. `number_from` reads the digits at the front.
std::optional<std::int64_t> number_of(std::string_view text);
std::optional<std::int64_t> number_from(std::string_view text);
std::optional<std::uint64_t> hex_of(std::string_view text);  // with or without "0x"

/// A driver version: digits in two or three parts.
bool is_driver_version(std::string_view word);

/// The first driver version in a line ("... Kernel Module  580.95.05  Wed ..."); empty: none.
std::string driver_version_in(std::string_view line);

/// Negative, zero, positive as a is older, equal, newer; missing parts count as 0.
int compare_versions(std::string_view a, std::string_view b);

/// The text after the first `mark`; empty when it is not there.
std::string_view after(std::string_view text, std::string_view mark);

/// Whether `name` fits `pattern`, in which '*' stands for any letters.
bool fits(std::string_view pattern, std::string_view name);

/// At most `limit` bytes, "..." at the end when something was cut; control letters become blanks.
std::string clip(std::string_view text, std::size_t limit = 200);

/// "a, b and c"
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

/// Bytes of a Kubernetes quantity ("4", "500m", "16Gi", "1k"); thousandths, so that CPUs compare.
std::optional<double> quantity_of(std::string_view text);

/// Seconds since 1970 of "2026-11-21T12:00:00Z"; empty when it is not such a text.
std::optional<std::int64_t> time_of(std::string_view text);

}  // namespace aliquot::doctor
