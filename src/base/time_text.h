// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot {

/// "2026-11-21T22:00:00Z" (RFC 3339), as Kubernetes writes times; of parts of a second the whole ones.
std::string rfc3339(std::chrono::system_clock::time_point time);
/// "2026-11-21T22:00:00.000000Z", as Kubernetes writes a MicroTime.
std::string rfc3339_micro(std::chrono::system_clock::time_point time);

/// "500ms", "90s", "2.5m", "24h", "30d". Empty: another text, less than nothing, or over 292 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Any time of RFC 3339: with parts of a second (those below the clock's are dropped), with an offset
/// instead of Z. Empty: no such text, or no such day or hour.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

}  // namespace aliquot
