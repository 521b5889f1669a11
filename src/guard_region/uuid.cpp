// SPDX-License-Identifier: Apache-2.0
#include "guard_region/uuid.h"

#include <algorithm>
#include <cstddef>

namespace aliquot::guard_region {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kPrefixSize = 4;
constexpr std::size_t kText = 36;
constexpr std::size_t kBytes = sizeof(abi::DeviceUuid::bytes);

bool dash_at(std::size_t place) { return place == 8 || place == 13 || place == 18 || place == 23; }

int value_of(char c) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const auto place = kDigits.find(c);
    return place == std::string_view::npos ? -1 : static_cast<int>(place);
}

}  // namespace

Result<abi::DeviceUuid> parse_uuid(std::string_view text) {
    const Error malformed{ErrorCode::kInvalidInput,
                          "'" + std::string(text.substr(0, 80)) + "' is no UUID of a device"};
    if (text.size() != kPrefixSize + kText) return malformed;
    if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return malformed;
    text.remove_prefix(kPrefixSize);
    abi::DeviceUuid uuid{};
    std::size_t digit = 0;
    for (std::size_t place = 0; place < text.size(); ++place) {
        if (dash_at(place)) {
            if (text[place] != '-') return malformed;
            continue;
        }
        const int value = value_of(text[place]);
        if (value < 0) return malformed;
        std::uint8_t& byte = uuid.bytes[digit / 2];
        byte = static_cast<std::uint8_t>(unsigned{byte} << 4U | static_cast<unsigned>(value));
        ++digit;
    }
    return uuid;
}

std::string gpu_text(const abi::DeviceUuid& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < kBytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += kDigits[uuid.bytes[i] >> 4U];
        text += kDigits[uuid.bytes[i] & 15U];
    }
    return text;
}

bool same_device(std::string_view one, std::string_view other) {
    return one.size() > kPrefixSize && other.size() > kPrefixSize &&
           one.substr(kPrefixSize) == other.substr(kPrefixSize);
}

bool same(const abi::DeviceUuid& one, const abi::DeviceUuid& other) {
    return std::equal(one.bytes, one.bytes + kBytes, other.bytes);
}

bool is_none(const abi::DeviceUuid& uuid) { return same(uuid, {}); }

}  // namespace aliquot::guard_region
