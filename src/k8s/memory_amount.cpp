// SPDX-License-Identifier: Apache-2.0
#include "k8s/memory_amount.h"

#include <array>
#include <cstdio>
#include <limits>

#include "k8s/quantity.h"

namespace aliquot::k8s {
namespace {

constexpr std::string_view kPrefixes = "TGMK";  // 1024Ti is not written as 1Pi

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
    constexpr std::string_view kSubunits = "num";
    const bool is_fraction = !text.empty() && kSubunits.find(text.back()) != std::string_view::npos;
    const auto amount = is_fraction ? std::nullopt : Quantity::parse(text);
    const auto bytes = amount ? amount->ones() : std::nullopt;
    // Ki .. Ei are cut to the most there is.
    constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
    const bool cut = bytes == kLargest && amount->format() == Quantity::Format::kBinary;
    if (!bytes || *bytes < 0 || cut) {
        return Error{
            ErrorCode::kInvalidInput,
            "'" + std::string(text) + "' is not an amount of memory such as 512Mi or 3.5Gi"};
    }
    return static_cast<std::uint64_t>(*bytes);
}

std::string bytes_text(std::uint64_t bytes) {
    for (std::size_t i = 0; i < kPrefixes.size(); ++i) {
        const std::uint64_t unit = std::uint64_t{1} << (10 * (kPrefixes.size() - i));
        if (bytes < unit) continue;
        const std::uint64_t hundredths = (bytes % unit) * 100 / unit;
        std::string text = std::to_string(bytes / unit);
        if (hundredths != 0) {
            std::array<char, 8> fraction{};
            std::snprintf(fraction.data(), fraction.size(), ".%02u",
                          static_cast<unsigned>(hundredths));
            text += fraction.data();
            if (text.back() == '0') text.pop_back();
        }
        return text + kPrefixes[i] + 'i';
    }
    return std::to_string(bytes);
}

}  // namespace aliquot::k8s
