// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <cstdint>

namespace aliquot {

std::string encode_base64(std::string_view bytes) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

}  // namespace aliquot
