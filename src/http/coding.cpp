// SPDX-License-Identifier: Apache-2.0
#include "http/coding.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace aliquot::http {
namespace {

constexpr std::size_t kLeastBytes = 1024;
constexpr std::size_t kMostBytes = 256UL << 20U;  // far above any answer, below zlib's uInt
constexpr int kWindowBits = 15 + 16;              // with gzip's frame
constexpr int kMemoryLevel = 8;
// The files of a page, a tenth smaller; of what is larger the time counts.
constexpr std::size_t kMostThorough = std::size_t{64} << 10U;
constexpr int kThorough = 6;

/// "0.25" in thousandths; what is no weight is 0, that is "not wanted".
unsigned weight_of(std::string_view text) {
    if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
    unsigned value = text[0] == '1' ? 1000 : 0;
    if (text.size() == 1) return value;
    if (text[1] != '.' || text.size() > 5) return 0;
    unsigned unit = 100;
    for (const char c : text.substr(2)) {
        if (c < '0' || c > '9') return 0;
        value += unit * static_cast<unsigned>(c - '0');
        unit /= 10;
    }
    return std::min(value, 1000U);
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
    std::optional<unsigned> of_gzip;
    std::optional<unsigned> of_identity;
    std::optional<unsigned> of_others;
    while (!accept_encoding.empty()) {
        const std::size_t comma = accept_encoding.find(',');
        std::string_view item = accept_encoding.substr(0, comma);
        accept_encoding = comma == std::string_view::npos ? std::string_view{}
                                                          : accept_encoding.substr(comma + 1);
        unsigned weight = 1000;
        if (const std::size_t semicolon = item.find(';'); semicolon != std::string_view::npos) {
            const std::string_view parameter = trim(item.substr(semicolon + 1), " \t");
            item = item.substr(0, semicolon);
            weight = parameter.size() > 2 && equals_folded(parameter.substr(0, 2), "q=")
                         ? weight_of(trim(parameter.substr(2), " \t"))
                         : 0;
        }
        item = trim(item, " \t");
        if (equals_folded(item, "gzip") || equals_folded(item, "x-gzip")) of_gzip = weight;
        if (equals_folded(item, "identity")) of_identity = weight;
        if (item == "*") of_others = weight;
    }
    const unsigned gzip = of_gzip ? *of_gzip : of_others.value_or(0);
    return gzip > 0 && gzip >= of_identity.value_or(0);
}

bool is_compressible(std::string_view content_type, std::size_t bytes) {
    return bytes >= kLeastBytes && bytes <= kMostBytes &&
           (content_type.starts_with("text/") || content_type.contains("json") ||
            content_type.contains("openmetrics") || content_type.contains("xml") ||
            content_type.contains("javascript"));
}

std::string gzip(std::string_view plain) {
    z_stream stream{};
    const int level = plain.size() <= kMostThorough ? kThorough : Z_BEST_SPEED;
    if (plain.size() > kMostBytes || ::deflateInit2(&stream, level, Z_DEFLATED, kWindowBits,
                                                    kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
        return {};
    }
    // No more room than pays: deflate() then says that it is not done.
    std::string made(plain.size() - plain.size() / 10, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(made.data());
    stream.avail_out = static_cast<uInt>(made.size());
    const int end = ::deflate(&stream, Z_FINISH);
    made.resize(end == Z_STREAM_END ? stream.total_out : 0);
    ::deflateEnd(&stream);
    made.shrink_to_fit();
    return made;
}

std::shared_ptr<const std::string> CompressedBodies::of(
    const std::shared_ptr<const std::string>& body) {
    // Held while compressing: who asks for the same body meanwhile waits and has it for nothing.
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
        const auto alive = slot.body.lock();
        if (alive == body) return slot.compressed;
        if (!alive) slot.compressed.reset();
    }
    auto compressed = std::make_shared<const std::string>(gzip(*body));
    if (compressed->empty()) compressed.reset();
    slots_[next_] = {.body = body, .compressed = compressed};
    next_ = (next_ + 1) % slots_.size();
    return compressed;
}

}  // namespace aliquot::http
