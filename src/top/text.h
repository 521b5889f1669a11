// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/columns.h"

namespace aliquot::top {

using aliquot::width_of;  // beside those of this folder

/// Foreign text (names, commands, reasons) made safe for a terminal: every byte that is not
/// printable ASCII becomes '?', so nothing that a process calls itself can move the cursor.
std::string shown(std::string_view foreign);

/// What an agent says need not make sense: below 0 and not a number are 0, the rest ends at 2^62.
std::uint64_t whole_number(double value);

/// "42", "<1", "0"; parts per million as percent without its sign. "-": not known.
std::string percent_text(std::optional<std::uint64_t> ppm);
/// "10.2Gi", "512Mi", "79Gi"; at most 6 characters below 10 Ti. "-": not known.
std::string memory_text(std::optional<std::uint64_t> bytes);
/// "10.2/20.0Gi": both in the unit of the second; what is not known is "-".
std::string memory_of_text(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit);
/// "112"; milliwatts as watts.
std::string watts_text(std::optional<std::uint64_t> milliwatts);
/// "12s", "5m", "2h10m", "3d4h"; at most 6 characters below 100 days.
std::string duration_text(std::optional<std::uint64_t> ns);
/// "4.96", "12.4", "310"; three digits, as they are good for money and hours.
std::string number_text(double value);
/// "14:03:05" of the day, UTC.
std::string clock_text(std::int64_t seconds_since_epoch);

/// How lines and bars are drawn. ASCII where the terminal's character set is not known to be UTF-8.
enum class Charset : bool { kAscii, kUtf8 };

/// Cut to `width`, with a mark in place of what is missing: at the end, or in the middle (names of
/// pods differ at both ends).
std::string cut_end(std::string_view ascii, std::size_t width, Charset charset);
std::string cut_middle(std::string_view ascii, std::size_t width, Charset charset);

/// `width` columns, filled by `ppm`; without a value dots.
std::string bar(std::optional<std::uint64_t> ppm, std::size_t width, Charset charset);
/// The last `width` values as one column each, 0..kMillion; a value that is not known is a blank.
std::string sparkline(std::span<const std::optional<std::uint64_t>> ppm, std::size_t width,
                      Charset charset);

}  // namespace aliquot::top
