// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::kube_client {

/// Makes texts that are much alike small: what a text shares with those before it is kept once.
/// For the objects of one resource in memory; the bytes mean nothing to another TextPacker.
/// Not thread-safe, but unpack() beside unpack() is.
///
/// A packed text is a chain of pieces: literal bytes, then a place to copy from, in the dictionary
/// (which only grows: 64 KiB of texts that were unlike those before) or in the text itself.
class TextPacker {
public:
    TextPacker();

    /// Valid until the next call. About 1 us for a pod.
    std::string_view pack(std::string_view text);

    /// size     of the text
    /// nullopt  these are no bytes of this packer's for a text of that size
    [[nodiscard]] std::optional<std::string> unpack(std::string_view packed,
                                                    std::size_t size) const;

    [[nodiscard]] std::size_t dictionary_bytes() const { return dictionary_.size(); }

private:
    struct Match {
        std::size_t length = 0;
        std::size_t place = 0;
        bool own = false;  // in the text itself
    };
    static constexpr unsigned kDictionaryBits = 14;
    static constexpr unsigned kOwnBits = 10;

    Match find(std::string_view text, std::size_t at, std::uint64_t bytes);
    void write(std::string_view literals, const Match& match);
    void write_number(std::size_t number);
    void learn(std::string_view text);

    std::string dictionary_;
    std::vector<std::uint16_t> known_;  // by hash: a place in the dictionary
    std::array<std::uint32_t, 1U << kOwnBits> own_{};
    std::string out_;
};

}  // namespace aliquot::kube_client
