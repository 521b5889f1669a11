// SPDX-License-Identifier: Apache-2.0
#include "kube_client/packed_text.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace aliquot::kube_client {
namespace {

constexpr std::size_t kShortest = 6;             // of a copy
constexpr std::size_t kLongEnough = 32;          // a longer one is not looked for
constexpr std::size_t kDictionaryMost = 65'535;  // places are 16 bits
constexpr std::size_t kLearnedMost = 8'192;      // of one text: others want to teach, too
constexpr std::size_t kDistanceMost = 65'535;
constexpr std::uint16_t kNowhere = 65'535;
constexpr std::uint32_t kNotYet = UINT32_MAX;

// The first byte of a piece: whose bytes are copied, how many literals, how long a copy. The last
// value of each means that a number follows.
constexpr unsigned kOwnFlag = 128;
constexpr std::size_t kLiteralsFollow = 7;
constexpr std::size_t kLengthFollows = 15;

std::uint64_t load(const char* place) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, place, sizeof bytes);
    return bytes;
}

/// Of the first six bytes.
std::size_t hash(std::uint64_t bytes, unsigned bits) {
    if constexpr (std::endian::native == std::endian::little) bytes <<= 16U;
    return static_cast<std::size_t>((bytes * 0x9E3779B97F4A7C15U) >> (64U - bits));
}

std::size_t common_length(const char* one, const char* other, std::size_t most) {
    std::size_t length = 0;
    while (length + 8 <= most) {
        const std::uint64_t difference = load(one + length) ^ load(other + length);
        if (difference == 0) {
            length += 8;
            continue;
        }
        if constexpr (std::endian::native != std::endian::little) break;
        return length + static_cast<std::size_t>(std::countr_zero(difference)) / 8;
    }
    while (length < most && one[length] == other[length]) ++length;
    return length;
}

/// Reads what write() has written. A short text ends it.
class Bytes {
public:
    explicit Bytes(std::string_view text) : left_(text) {}
    [[nodiscard]] bool empty() const { return left_.empty(); }
    [[nodiscard]] bool good() const { return good_; }
    std::size_t byte() {
        const std::string_view one = take(1);
        return one.empty() ? 0 : static_cast<unsigned char>(one[0]);
    }
    std::size_t number(std::size_t small, std::size_t follows) {
        if (small != follows) return small;
        std::size_t value = 0;
        for (unsigned shift = 0; shift < 35 && good_; shift += 7) {
            const std::size_t part = byte();
            value |= (part & 127U) << shift;
            if (part < 128) return small + value;
        }
        good_ = false;
        return 0;
    }
    std::string_view take(std::size_t count) {
        good_ = good_ && count <= left_.size();
        if (!good_) return {};
        const std::string_view taken = left_.substr(0, count);
        left_.remove_prefix(count);
        return taken;
    }

private:
    std::string_view left_;
    bool good_ = true;
};

}  // namespace

TextPacker::TextPacker() : known_(1U << kDictionaryBits, kNowhere) {}

TextPacker::Match TextPacker::find(std::string_view text, std::size_t at, std::uint64_t bytes) {
    Match match;
    const std::size_t left = text.size() - at;
    if (const std::size_t place = known_[hash(bytes, kDictionaryBits)]; place != kNowhere) {
        match.place = place;
        match.length = common_length(dictionary_.data() + place, text.data() + at,
                                     std::min(dictionary_.size() - place, left));
    }
    if (match.length >= kLongEnough) return match;
    std::uint32_t& own = own_[hash(bytes, kOwnBits)];
    if (own != kNotYet && at - own <= kDistanceMost) {
        const std::size_t length = common_length(text.data() + own, text.data() + at, left);
        if (length > match.length) match = {.length = length, .place = own, .own = true};
    }
    own = static_cast<std::uint32_t>(at);
    return match;
}

std::string_view TextPacker::pack(std::string_view text) {
    out_.clear();
    own_.fill(kNotYet);
    std::size_t written = 0;
    std::size_t misses = 0;
    for (std::size_t at = 0; at + 8 <= text.size();) {
        const Match match = find(text, at, load(text.data() + at));
        if (match.length < kShortest) {
            at += 1 + misses++ / 16;  // what is like nothing is passed faster and faster
            continue;
        }
        misses = 0;
        Match relative = match;
        if (match.own) relative.place = at - match.place;
        write(text.substr(written, at - written), relative);
        at += match.length;
        written = at;
    }
    if (written < text.size()) write(text.substr(written), {});
    if (out_.size() > text.size() / 3) learn(text);
    return out_;
}

void TextPacker::write(std::string_view literals, const Match& match) {
    const std::size_t extra = match.length == 0 ? 0 : match.length - kShortest;
    out_ += static_cast<char>((match.own ? kOwnFlag : 0) |
                              std::min(literals.size(), kLiteralsFollow) << 4U |
                              std::min(extra, kLengthFollows));
    if (literals.size() >= kLiteralsFollow) write_number(literals.size() - kLiteralsFollow);
    out_ += literals;
    if (match.length == 0) return;
    out_ += static_cast<char>(match.place & 255U);
    out_ += static_cast<char>(match.place >> 8U);
    if (extra >= kLengthFollows) write_number(extra - kLengthFollows);
}

void TextPacker::write_number(std::size_t number) {
    for (; number > 127; number >>= 7U) out_ += static_cast<char>(number | 128U);
    out_ += static_cast<char>(number);
}

void TextPacker::learn(std::string_view text) {
    const std::size_t begin = dictionary_.size();
    text = text.substr(0, std::min(kLearnedMost, kDictionaryMost - begin));
    if (text.size() < 64) return;
    dictionary_ += text;
    for (std::size_t at = begin; at + 8 <= dictionary_.size(); ++at) {
        known_[hash(load(dictionary_.data() + at), kDictionaryBits)] =
            static_cast<std::uint16_t>(at);
    }
}

std::optional<std::string> TextPacker::unpack(std::string_view packed, std::size_t size) const {
    std::string text(size, '\0');
    std::size_t done = 0;
    Bytes bytes(packed);
    while (!bytes.empty()) {
        const std::size_t head = bytes.byte();
        const std::string_view literals =
            bytes.take(bytes.number(head >> 4U & kLiteralsFollow, kLiteralsFollow));
        if (!bytes.good() || literals.size() > size - done) return std::nullopt;
        literals.copy(text.data() + done, literals.size());
        done += literals.size();
        if (bytes.empty()) break;  // the last piece copies nothing
        const std::size_t low = bytes.byte();
        const std::size_t place = low | bytes.byte() << 8U;
        const std::size_t length = kShortest + bytes.number(head & kLengthFollows, kLengthFollows);
        if (!bytes.good() || length > size - done) return std::nullopt;
        if ((head & kOwnFlag) == 0) {
            if (place > dictionary_.size() || length > dictionary_.size() - place) {
                return std::nullopt;
            }
            std::memcpy(text.data() + done, dictionary_.data() + place, length);
        } else {
            if (place == 0 || place > done) return std::nullopt;
            const char* const from = text.data() + done - place;
            if (place >= length) {
                std::memcpy(text.data() + done, from, length);
            } else {  // it reads what it writes
                for (std::size_t i = 0; i < length; ++i) text[done + i] = from[i];
            }
        }
        done += length;
    }
    if (!bytes.good() || done != size) return std::nullopt;
    return text;
}

}  // namespace aliquot::kube_client
