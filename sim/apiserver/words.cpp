// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/words.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <random>

namespace aliquot::sim::apiserver {

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint64_t random_number() {
    static std::mutex guard;
    static std::mt19937_64 source{std::random_device{}()};
    const std::lock_guard lock(guard);
    return source();
}

std::string format(Time time, bool micro) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 40> text{};
    std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::string out(text.data(), length);
    if (micro) {
        const auto part = std::chrono::duration_cast<std::chrono::microseconds>(time - whole);
        length = static_cast<std::size_t>(
            std::snprintf(text.data(), text.size(), ".%06d", static_cast<int>(part.count())));
        out.append(text.data(), length);
    }
    return out + "Z";
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    if (text.empty()) return parts;
    std::size_t start = 0;
    while (true) {
        const std::size_t end = text.find(separator, start);
        parts.push_back(text.substr(start, end - start));
        if (end == std::string_view::npos) return parts;
        start = end + 1;
    }
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
    std::string out;
    for (const std::string& part : parts) {
        if (&part != &parts.front()) out += between;
        out += part;
    }
    return out;
}

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string encode_base64(std::string_view bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const auto byte = [&](std::size_t k) {
            return k < left ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0U;
        };
        const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
        out += kBase64[three >> 18];
        out += kBase64[three >> 12 & 63];
        out += left > 1 ? kBase64[three >> 6 & 63] : '=';
        out += left > 2 ? kBase64[three & 63] : '=';
    }
    return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string out;
    unsigned collected = 0;
    int bits = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (c == '\n' || c == '\r') continue;
        if (c == '=') {
            ++padding;
            continue;
        }
        const std::size_t digit = kBase64.find(c);
        if (digit == std::string_view::npos || padding > 0) return std::nullopt;
        collected = (collected << 6 | static_cast<unsigned>(digit)) & 0xFFFFFFU;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out += static_cast<char>(collected >> bits & 0xFF);
        }
    }
    if (padding > 2 || bits >= 6) return std::nullopt;
    return out;
}

std::string format_time(Time time) { return format(time, false); }
std::string format_micro_time(Time time) { return format(time, true); }

std::optional<Time> parse_time(std::string_view text) {
    std::tm parts{};
    const std::string copy(text);
    const char* rest = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr) return std::nullopt;
    Time time = std::chrono::system_clock::from_time_t(timegm(&parts));
    if (*rest == '.') {
        std::int64_t nanos = 0;
        std::int64_t unit = 100'000'000;
        for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10)
            nanos += (*rest - '0') * unit;
        time += std::chrono::duration_cast<Time::duration>(std::chrono::nanoseconds(nanos));
    }
    const std::string_view zone(rest);
    if (zone == "Z" || zone == "z") return time;
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
        return std::nullopt;
    const auto hours = parse_integer(zone.substr(1, 2));
    const auto minutes = parse_integer(zone.substr(4, 2));
    if (!hours || !minutes) return std::nullopt;
    const auto offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    return zone[0] == '+' ? time - offset : time + offset;
}

std::string format_age(std::chrono::seconds age) {
    const std::int64_t seconds = std::max<std::int64_t>(age.count(), 0);
    const std::int64_t minutes = seconds / 60;
    const std::int64_t hours = minutes / 60;
    const std::int64_t days = hours / 24;
    const auto two = [](std::int64_t big, const char* big_unit, std::int64_t small,
                        const char* small_unit) {
        std::string out = std::to_string(big) + big_unit;
        if (small > 0) out += std::to_string(small) + small_unit;
        return out;
    };
    if (seconds < 120) return std::to_string(seconds) + "s";
    if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
    if (minutes < 180) return std::to_string(minutes) + "m";
    if (hours < 8) return two(hours, "h", minutes % 60, "m");
    if (hours < 48) return std::to_string(hours) + "h";
    if (days < 8) return two(days, "d", hours % 24, "h");
    if (days < 730) return std::to_string(days) + "d";
    return two(days / 365, "y", days % 365, "d");
}

std::string make_uuid() {
    const std::uint64_t high = (random_number() & ~0xF000ULL) | 0x4000ULL;
    const std::uint64_t low = (random_number() & ~(3ULL << 62)) | (2ULL << 62);
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%012llx",
                  static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xFFFF),
                  static_cast<unsigned>(high & 0xFFFF), static_cast<unsigned>(low >> 48),
                  static_cast<unsigned long long>(low & 0xFFFFFFFFFFFFULL));
    return text.data();
}

std::string random_letters(std::size_t count) {
    static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += kLetters[random_number() % kLetters.size()];
    return out;
}

}  // namespace aliquot::sim::apiserver
