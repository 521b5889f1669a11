// SPDX-License-Identifier: Apache-2.0
#include "top/keys.h"

#include <optional>

#include "base/number.h"

namespace aliquot::top {
namespace {

constexpr char kEsc = '\x1b';

std::optional<Named> of_letter(char letter) {
    switch (letter) {
        case 'A':
            return Named::kUp;
        case 'B':
            return Named::kDown;
        case 'C':
            return Named::kRight;
        case 'D':
            return Named::kLeft;
        case 'H':
            return Named::kHome;
        case 'F':
            return Named::kEnd;
        case 'M':
            return Named::kEnter;
        default:
            return std::nullopt;
    }
}

std::optional<Named> of_number(std::string_view number) {
    if (number == "1" || number == "7") return Named::kHome;
    if (number == "4" || number == "8") return Named::kEnd;
    if (number == "5") return Named::kPageUp;
    if (number == "6") return Named::kPageDown;
    if (number == "3") return Named::kBackspace;
    return std::nullopt;
}

std::optional<Key> of_byte(char c) {
    switch (c) {
        case '\r':
        case '\n':
            return Key{Named::kEnter};
        case '\x7f':
        case '\b':
            return Key{Named::kBackspace};
        case '\x03':
            return Key{Named::kInterrupt};
        case '\x1a':
            return Key{Named::kSuspend};
        case '\x0c':
            return Key{Named::kRedraw};
        case '\x15':
            return Key{Named::kDeleteLine};
        default:
            break;
    }
    if (c >= 0x20 && c <= 0x7e) return Key{Named::kCharacter, c};
    return std::nullopt;
}

/// "<BUTTON;COLUMN;LINE" of a sequence that ends in M (pressed) or m (released).
std::optional<Key> of_mouse(std::string_view report, char end) {
    report.remove_prefix(1);
    const std::size_t first = report.find(';');
    const std::size_t second =
        first == std::string_view::npos ? first : report.find(';', first + 1);
    if (second == std::string_view::npos || end != 'M') return std::nullopt;
    const auto button = parse_number<unsigned>(report.substr(0, first));
    const auto column = parse_number<unsigned>(report.substr(first + 1, second - first - 1));
    const auto line = parse_number<unsigned>(report.substr(second + 1));
    if (!button || !column || !line || *column == 0 || *line == 0) return std::nullopt;
    constexpr unsigned kModifiers = 4 + 8 + 16;  // shift, meta, control
    constexpr unsigned kWheelUp = 64;
    constexpr unsigned kWheelDown = 65;
    const unsigned pressed = *button & ~kModifiers;
    if (pressed == kWheelUp) return Key{.name = Named::kScrollUp};
    if (pressed == kWheelDown) return Key{.name = Named::kScrollDown};
    if (pressed != 0) return std::nullopt;
    return Key{.name = Named::kClick, .column = *column - 1, .line = *line - 1};
}

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
    rest_ += bytes;
    std::vector<Key> keys;
    std::size_t at = 0;
    while (at < rest_.size()) {
        if (rest_[at] != kEsc) {
            if (const auto key = of_byte(rest_[at])) keys.push_back(*key);
            ++at;
            continue;
        }
        if (at + 1 >= rest_.size()) break;
        const char second = rest_[at + 1];
        if (second != '[' && second != 'O') {  // Esc, then a key of its own
            keys.push_back({Named::kEscape});
            ++at;
            continue;
        }
        std::size_t end = at + 2;
        while (end < rest_.size() && !(rest_[end] >= 0x40 && rest_[end] <= 0x7e)) ++end;
        if (end >= rest_.size()) {
            if (rest_.size() - at > kLongest) at = rest_.size();  // no terminal sends this
            break;
        }
        const std::string_view number = std::string_view(rest_).substr(at + 2, end - at - 2);
        if (number.starts_with('<')) {
            if (const auto key = of_mouse(number, rest_[end])) keys.push_back(*key);
        } else {
            const auto name = rest_[end] == '~' ? of_number(number) : of_letter(rest_[end]);
            if (name) keys.push_back({*name});
        }
        at = end + 1;
    }
    rest_.erase(0, at);
    return keys;
}

std::vector<Key> KeyReader::settle() {
    std::vector<Key> keys;
    if (!rest_.empty()) keys.push_back({Named::kEscape});
    rest_.clear();
    return keys;
}

}  // namespace aliquot::top
