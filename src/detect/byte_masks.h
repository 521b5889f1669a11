// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace aliquot::detect {

/// One bit per byte of a block of 64, the first byte in the lowest bit.
struct ByteMasks {
    std::uint64_t word = 0;         // letters, digits and bytes above 127
    std::uint64_t punctuation = 0;  // the first bytes of the no-break space and of U+2000..U+203F
    std::uint64_t sentence = 0;     // separators that end a sentence
    std::uint64_t line = 0;         // line breaks
    std::uint64_t wide = 0;         // the first bytes of Chinese, Japanese and Korean letters
};

inline constexpr std::size_t kBlock = 64;

namespace mask {

// The vector extensions of GCC and clang: SSE2 and NEON come out of them without any flag.
using Bytes [[gnu::vector_size(16)]] = unsigned char;
using Lanes [[gnu::vector_size(16)]] = std::uint64_t;

inline Bytes load(const char* from) {
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

inline Bytes all(unsigned char byte) { return Bytes{} + byte; }

/// `test` has 0 or 255 in every byte.
inline std::uint64_t bits_of(Bytes test) {
#if defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(test)));
#else
    constexpr std::uint64_t kOneBitPerByte = 0x8040201008040201ULL;
    constexpr std::uint64_t kSumOfBytes = 0x0101010101010101ULL;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bits_of() reads lanes of bytes as little-endian numbers"
#endif
    Lanes lanes;
    static_assert(sizeof lanes == sizeof test);
    std::memcpy(&lanes, &test, sizeof lanes);
    const std::uint64_t low = ((lanes[0] & kOneBitPerByte) * kSumOfBytes) >> 56U;
    const std::uint64_t high = ((lanes[1] & kOneBitPerByte) * kSumOfBytes) >> 56U;
    return low | (high << 8U);
#endif
}

inline Bytes as_bytes(auto test) {
    Bytes bytes;
    static_assert(sizeof test == sizeof bytes);
    std::memcpy(&bytes, &test, sizeof bytes);
    return bytes;
}

}  // namespace mask

/// Classifies the 64 bytes at `text`; reads one byte more.
///
/// prose    a line break before a lower-case letter ends no sentence
inline ByteMasks masks_of(const char* text, bool prose) {
    using mask::all;
    using mask::as_bytes;
    const mask::Bytes keep_line_breaks = all(prose ? 0 : 255);
    ByteMasks masks;
    for (unsigned at = 0; at < kBlock; at += 16) {
        const mask::Bytes here = mask::load(text + at);
        const mask::Bytes next = mask::load(text + at + 1);
        const mask::Bytes letter = as_bytes((here | all(0x20)) - all('a') < all(26));
        const mask::Bytes digit = as_bytes(here - all('0') < all(10));
        const mask::Bytes high = as_bytes(here > all(127));
        const mask::Bytes mark = (as_bytes(here == all(0xC2)) & as_bytes(next == all(0xA0))) |
                                 (as_bytes(here == all(0xE2)) & as_bytes(next == all(0x80)));
        const mask::Bytes line = as_bytes(here == all('\n'));
        const mask::Bytes goes_on = as_bytes(next - all('a') < all(26));
        const mask::Bytes end = as_bytes(here == all(';')) | as_bytes(here == all('!')) |
                                as_bytes(here == all('?')) |
                                (as_bytes(here == all('.')) & as_bytes(next <= all(' '))) |
                                (line & (~goes_on | keep_line_breaks));
        masks.word |= mask::bits_of(letter | digit | high) << at;
        masks.punctuation |= mask::bits_of(mark) << at;
        masks.sentence |= mask::bits_of(end) << at;
        masks.line |= mask::bits_of(line) << at;
        masks.wide |= mask::bits_of(as_bytes(here - all(0xE3) < all(0x0D))) << at;
    }
    return masks;
}

}  // namespace aliquot::detect
