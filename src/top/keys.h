// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::top {

enum class Named : std::uint8_t {
    kCharacter,
    kUp,
    kDown,
    kLeft,
    kRight,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kInterrupt,   // ctrl-C
    kSuspend,     // ctrl-Z
    kRedraw,      // ctrl-L
    kDeleteLine,  // ctrl-U
    kClick,       // the left button of the mouse, at Key::column and Key::line
    kScrollUp,    // its wheel
    kScrollDown,
};

struct Key {
    Named name = Named::kCharacter;
    char character = 0;      // of kCharacter: printable ASCII
    std::size_t column = 0;  // of kClick: from 0 at the left
    std::size_t line = 0;    // of kClick: from 0 at the top
    friend bool operator==(const Key&, const Key&) = default;
};

/// Turns the bytes of a terminal in raw mode into keys (ECMA-48 and VT sequences, both kinds of
/// arrows, the mouse as xterm's mode 1006 tells it). Sequences that mean nothing to us are skipped whole. Not thread-safe.
class KeyReader {
public:
    /// Bytes that begin a sequence are kept for the next call.
    std::vector<Key> feed(std::string_view bytes);
    /// Nothing more came for a moment: a lone Esc was the key.
    std::vector<Key> settle();
    [[nodiscard]] bool waiting() const { return !rest_.empty(); }

private:
    static constexpr std::size_t kLongest = 32;
    std::string rest_;
};

}  // namespace aliquot::top
