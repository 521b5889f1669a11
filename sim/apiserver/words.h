// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::sim::apiserver {

/// The parts between the separators; an empty text has none.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view between);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

std::string encode_base64(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);

using Time = std::chrono::system_clock::time_point;
std::string format_time(Time time);        // 2026-11-21T22:01:43Z
std::string format_micro_time(Time time);  // 2026-11-21T22:01:43.000000Z
std::optional<Time> parse_time(std::string_view text);

/// "5s", "4m3s", "2d7h": how long ago, as tables say it.
std::string format_age(std::chrono::seconds age);

std::string make_uuid();
std::string random_letters(std::size_t count);  // as generateName adds

}  // namespace aliquot::sim::apiserver
