// SPDX-License-Identifier: Apache-2.0
#include "admission/request_text.h"

#include <algorithm>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "k8s/memory_amount.h"

namespace aliquot::admission {
namespace {

constexpr unsigned kMibShift = 20;
constexpr std::uint64_t kMib = std::uint64_t{1} << kMibShift;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44U;  // 16 TiB
constexpr unsigned kMostPercent = 100;
constexpr unsigned kMostDevices = 64;
constexpr std::size_t kMostTypes = 16;
constexpr std::size_t kMostQuoted = 40;

Error wrong(std::string_view key, std::string_view text, std::string_view expected) {
    const bool cut = text.size() > kMostQuoted;
    return {ErrorCode::kInvalidInput, std::string(key) + ": '" +
                                          std::string(text.substr(0, kMostQuoted)) +
                                          (cut ? "...'" : "'") + std::string(expected)};
}

/// "3Gb" -> "3G": what was probably meant; empty: no idea.
std::string corrected_amount(std::string_view text) {
    std::string digits;
    std::string unit;
    for (const char c : text) {
        if (c == ' ') continue;
        const bool is_digit = (c >= '0' && c <= '9') || c == '.';
        if (is_digit && !unit.empty()) return {};
        (is_digit ? digits : unit) += is_digit ? c : static_cast<char>(c | 0x20);
    }
    if (digits.empty() || unit.empty()) return {};
    const char* suffix = nullptr;
    if (unit == "g" || unit == "gi" || unit == "gib") suffix = "Gi";
    if (unit == "gb") suffix = "G";
    if (unit == "m" || unit == "mi" || unit == "mib") suffix = "Mi";
    if (unit == "mb") suffix = "M";
    return suffix == nullptr ? "" : digits + suffix;
}

/// Of memory and of /dev/shm: at least 1Mi.
Result<std::uint64_t> parse_amount(std::string_view key, std::string_view text,
                                   std::string_view what) {
    const auto bytes = k8s::parse_bytes(text);
    if (!bytes) {
        const std::string fixed = corrected_amount(text);
        std::string expected = " is not an amount of memory; expected " + std::string(what);
        if (!fixed.empty()) expected += "; did you mean " + fixed + "?";
        return wrong(key, text, expected);
    }
    if (*bytes < kMib) {
        return wrong(key, text,
                     " is " + std::to_string(*bytes) + " bytes; expected " + std::string(what));
    }
    if (*bytes > kMostBytes) return wrong(key, text, " is above 16Ti");
    return *bytes;
}

}  // namespace

Result<std::uint64_t> parse_memory_mib(std::string_view key, std::string_view text) {
    auto bytes = parse_amount(key, trim(text), "GPU memory with its unit, as 3Gi or 512Mi");
    if (!bytes) return std::move(bytes).error();
    return (*bytes + kMib - 1) >> kMibShift;
}

Result<std::uint64_t> parse_shm_bytes(std::string_view key, std::string_view text) {
    if (trim(text) == "off") return std::uint64_t{0};
    return parse_amount(key, trim(text), "memory with its unit, as 2Gi, or off");
}

Result<unsigned> parse_compute(std::string_view key, std::string_view text) {
    std::string_view digits = trim(text);
    if (digits.ends_with('%')) digits = trim(digits.substr(0, digits.size() - 1));
    const auto value = parse_number<unsigned>(digits);
    if (!value || *value == 0 || *value > kMostPercent) {
        return wrong(key, text, " is not a percentage of one GPU; expected 1 to 100");
    }
    return *value;
}

Result<unsigned> parse_count(std::string_view key, std::string_view text) {
    const auto value = parse_number<unsigned>(trim(text));
    if (!value || *value == 0 || *value > kMostDevices) {
        return wrong(key, text, " is not a number of GPUs; expected 1 to 64");
    }
    return *value;
}

Result<bool> parse_flag(std::string_view key, std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    return wrong(key, text, " is neither \"true\" nor \"false\"");
}

Result<std::vector<GpuType>> parse_types(std::string_view key, std::string_view text,
                                         const Cluster& cluster) {
    std::vector<GpuType> types;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view word = trim(rest.substr(0, comma));
        if (word.empty()) return wrong(key, text, " names no type; expected as a100 or a100,h100");
        if (types.size() == kMostTypes) return wrong(key, text, " names more than 16 types");
        auto type = find_type(word, cluster);
        if (!type) return std::move(type).error();
        types.push_back(*std::move(type));
        if (comma == rest.size()) return types;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace aliquot::admission
