// SPDX-License-Identifier: Apache-2.0
// Any bytes as the note of a prepared claim: it is read or refused, and what was read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dra/checkpoint.h"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}

/// With the right checksum, so that what stands behind it is reached as well.
std::string sealed(std::string_view json) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : json) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) {
        digits += "0123456789abcdef"[(hash >> static_cast<unsigned>(shift)) & 0xFU];
    }
    return "aliquot-claim 1 " + digits + "\n" + std::string(json) + "\n";
}

void read(std::string_view text) {
    const auto claim = aliquot::dra::parse_prepared_claim(text);
    if (!claim) {
        expect(!claim.error().message.empty());
        return;
    }
    expect(aliquot::dra::is_claim_uid(claim->claim.uid));
    const auto again = aliquot::dra::parse_prepared_claim(to_text(*claim));
    expect(again && again->claim.uid == claim->claim.uid);
    (void)aliquot::dra::shares_of(*claim);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read(text);
    read(sealed(text));
    (void)aliquot::dra::device_id_of(text);
    return 0;
}
