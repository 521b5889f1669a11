// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <cstdint>

namespace aliquot {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
    constexpr std::size_t kGroup = 3;
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += kGroup) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < kGroup; ++k) {
            group <<= 8U;
            if (i + k < bytes.size()) group |= static_cast<unsigned char>(bytes[i + k]);
        }
        for (unsigned k = 0; k < 4; ++k) {
            text += i + k <= bytes.size() ? kLetters[(group >> (18U - 6U * k)) & 63U] : '=';
        }
    }
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string bytes;
    std::uint32_t bits = 0;
    std::size_t signs = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (c == '\n' || c == '\r') continue;
        const auto digit = kLetters.find(c);
        if (c == '=' ? ++padding > 2 : padding > 0 || digit == std::string_view::npos) return {};
        bits = bits << 6U | static_cast<std::uint32_t>(c == '=' ? 0 : digit);
        if (++signs % 4 != 0) continue;
        for (unsigned k = 0; k + padding < 3; ++k) {
            bytes += static_cast<char>(bits >> (16U - 8U * k) & 0xFFU);
        }
    }
    if (signs % 4 != 0) return {};
    return bytes;
}

}  // namespace aliquot
