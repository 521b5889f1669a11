// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace aliquot::os {

/// Tells whoever collects a program's libraries (deploy/image, a distribution's packager) which ones are loaded at run
/// time. To stand in a section ".note.dlopen". Source: UAPI group, ELF dlopen metadata.
template <std::size_t kBytes>
struct LoadNote {
    std::uint32_t owner_size = 4;
    std::uint32_t text_size = sizeof(text);
    std::uint32_t kind = 0x407c0c0a;
    std::array<char, 4> owner{'F', 'D', 'O', '\0'};
    std::array<char, (kBytes + 3) / 4 * 4> text{};
};

/// json   [{"soname":["libx.so.1"],"feature":...,"description":...,"priority":"required"}]; with its zero
template <std::size_t kBytes>
constexpr LoadNote<kBytes> load_note(const char (&json)[kBytes]) {
    LoadNote<kBytes> note;
    for (std::size_t i = 0; i < kBytes; ++i) note.text[i] = json[i];
    return note;
}

}  // namespace aliquot::os
