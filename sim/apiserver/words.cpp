// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/words.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <random>

namespace aliquot::sim::apiserver {

namespace {

std::uint64_t random_number() {
    static std::mutex guard;
    static std::mt19937_64 source{std::random_device{}()};
    const std::lock_guard lock(guard);
    return source();
}

}  // namespace

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
