// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "http/message.h"
#include "page/live.h"

namespace aliquot::page {

/// A step larger than this is not pushed: who reads is told its number and asks for it, compressed.
inline constexpr std::size_t kMostPushedBytes = std::size_t{16} << 10U;
/// Then the stream ends and the reader comes again, which asks him for his password again.
inline constexpr std::chrono::seconds kLongestStream{600};
/// Where a right may be taken away while he looks.
inline constexpr std::chrono::seconds kLongestGatedStream{60};

/// Writes server-sent events until the reader has gone: "changes" as Feed::changes() has them, "version" with
/// {"version"} where they are large, "snapshot" where the reader must take that first; a comment every 15 s.
/// only    as of Live::visit()
/// epoch, since   what the reader has, of which feed; of another one: nothing
/// source  WHATWG HTML, section 9.2
struct Reader {
    std::string only;
    std::string epoch;
    std::uint64_t since = 0;
};
void write_events(Live& live, Reader reader, std::chrono::seconds longest, http::Stream& stream);

}  // namespace aliquot::page
