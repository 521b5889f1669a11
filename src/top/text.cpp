// SPDX-License-Identifier: Apache-2.0
#include "top/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "telemetry/snapshot.h"

namespace aliquot::top {
namespace {

constexpr std::string_view kUnknown = "-";
constexpr double kKi = 1024;

struct Unit {
    const char* name;
    double bytes;
};
constexpr std::array<Unit, 5> kUnits{
    {{"B", 1}, {"Ki", kKi}, {"Mi", kKi* kKi}, {"Gi", kKi* kKi* kKi}, {"Ti", kKi* kKi* kKi* kKi}}};

/// The largest unit that the value fills, never below Mi: amounts of GPU memory compare well then.
const Unit& unit_of(double bytes) {
    std::size_t place = 2;
    while (place + 1 < kUnits.size() && bytes >= kUnits[place + 1].bytes) ++place;
    return kUnits[place];
}

std::string print(const char* format, double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

/// Exact to what fits in four characters: "9.8", "99.9", "512".
std::string amount(double bytes, const Unit& unit) {
    const double value = bytes / unit.bytes;
    return print(value >= 99.95 || unit.bytes < kUnits[3].bytes ? "%.0f" : "%.1f", value);
}

std::string_view mark(Charset charset) { return charset == Charset::kUtf8 ? "…" : "~"; }

}  // namespace

std::string shown(std::string_view foreign) {
    std::string text(foreign);
    for (char& c : text) {
        if (c < 0x20 || c > 0x7e) c = '?';
    }
    return text;
}

std::uint64_t whole_number(double value) {
    constexpr auto kMost = static_cast<double>(std::uint64_t{1} << 62U);
    return value > 0 ? static_cast<std::uint64_t>(std::min(value, kMost)) : 0;
}

std::string percent_text(std::optional<std::uint64_t> ppm) {
    if (!ppm) return std::string(kUnknown);
    const double percent = static_cast<double>(*ppm) * 100 / telemetry::kMillion;
    return percent > 0 && percent < 0.5 ? "<1" : print("%.0f", percent);
}

std::string memory_text(std::optional<std::uint64_t> bytes) {
    if (!bytes) return std::string(kUnknown);
    const auto value = static_cast<double>(*bytes);
    const Unit& unit = unit_of(value);
    return amount(value, unit) + unit.name;
}

std::string memory_of_text(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
    if (!limit) return memory_text(used);
    const auto most = static_cast<double>(*limit);
    const Unit& unit = unit_of(most);
    const std::string left =
        used ? amount(static_cast<double>(*used), unit) : std::string(kUnknown);
    return left + "/" + amount(most, unit) + unit.name;
}

std::string watts_text(std::optional<std::uint64_t> milliwatts) {
    if (!milliwatts) return std::string(kUnknown);
    return std::to_string((*milliwatts + 500) / 1000);
}

std::string duration_text(std::optional<std::uint64_t> ns) {
    if (!ns) return std::string(kUnknown);
    const std::uint64_t seconds = *ns / 1'000'000'000;
    const auto text = [](std::uint64_t count, char unit) { return std::to_string(count) + unit; };
    if (seconds < 60) return text(seconds, 's');
    const std::uint64_t minutes = seconds / 60;
    if (minutes < 60) return text(minutes, 'm');
    const std::uint64_t hours = minutes / 60;
    if (hours < 24) return text(hours, 'h') + (minutes % 60 > 0 ? text(minutes % 60, 'm') : "");
    return text(hours / 24, 'd') + (hours % 24 > 0 ? text(hours % 24, 'h') : "");
}

std::string number_text(double value) {
    const double size = std::fabs(value);
    if (size > 0 && size < 0.005) return "<0.01";
    return print(size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f", value);
}

std::string clock_text(std::int64_t seconds_since_epoch) {
    const std::time_t time = seconds_since_epoch;
    std::tm parts{};
    if (::gmtime_r(&time, &parts) == nullptr) return std::string(kUnknown);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%H:%M:%S", &parts);
    return text.data();
}

std::string cut_end(std::string_view ascii, std::size_t width, Charset charset) {
    if (ascii.size() <= width) return std::string(ascii);
    if (width == 0) return "";
    return std::string(ascii.substr(0, width - 1)) + std::string(mark(charset));
}

std::string cut_middle(std::string_view ascii, std::size_t width, Charset charset) {
    if (ascii.size() <= width) return std::string(ascii);
    if (width < 4) return cut_end(ascii, width, charset);
    const std::size_t tail = (width - 1) / 2;
    return std::string(ascii.substr(0, width - 1 - tail)) + std::string(mark(charset)) +
           std::string(ascii.substr(ascii.size() - tail));
}

std::string bar(std::optional<std::uint64_t> ppm, std::size_t width, Charset charset) {
    std::string text;
    const std::uint64_t part = std::min(ppm.value_or(0), telemetry::kMillion);
    const bool utf8 = charset == Charset::kUtf8;
    // Eighths of a column where they can be drawn.
    constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const std::uint64_t eighths =
        (part * width * 8 + telemetry::kMillion / 2) / telemetry::kMillion;
    std::size_t full = eighths / 8;
    if (!utf8 && eighths % 8 >= 4) ++full;
    std::size_t drawn = 0;
    for (; drawn < full; ++drawn) text += utf8 ? "█" : "#";
    if (utf8 && eighths % 8 > 0) {
        text += kParts[eighths % 8];
        ++drawn;
    }
    const char* const rest = !ppm ? "." : utf8 ? " " : "-";
    for (; drawn < width; ++drawn) text += rest;
    return text;
}

std::string sparkline(std::span<const std::optional<std::uint64_t>> ppm, std::size_t width,
                      Charset charset) {
    constexpr std::array<std::string_view, 8> kUtf8{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::array<std::string_view, 8> kAscii{"_", ".", ":", "-", "=", "+", "*", "#"};
    const auto& steps = charset == Charset::kUtf8 ? kUtf8 : kAscii;
    const std::size_t count = std::min(width, ppm.size());
    std::string text(width - count, ' ');
    for (const auto& value : ppm.last(count)) {
        if (!value) {
            text += ' ';
            continue;
        }
        const std::uint64_t part = std::min(*value, telemetry::kMillion);
        text += steps[std::min<std::uint64_t>(part * steps.size() / telemetry::kMillion,
                                              steps.size() - 1)];
    }
    return text;
}

}  // namespace aliquot::top
