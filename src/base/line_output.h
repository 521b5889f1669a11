// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace aliquot {

/// Writes lines to a descriptor that somebody reads, or nobody does: a pipe that is full keeps its
/// writer waiting for `patience` once, and from then on not at all until there is room again. What
/// finds no room is dropped and counted. Not thread-safe.
class LineOutput {
public:
    /// descriptor   stays open for as long as this lives, and stays its owner's
    explicit LineOutput(int descriptor,
                        std::chrono::milliseconds patience = std::chrono::milliseconds(20))
        : descriptor_(descriptor), patience_(patience) {}

    /// False: it, or its end, was dropped.
    bool write(std::string_view line);
    /// Lines that were dropped since the last call; to be told of by the next line that has room.
    [[nodiscard]] std::uint64_t take_dropped();
    /// Whether lines were dropped, and there is room to tell of it.
    [[nodiscard]] bool may_tell_of_dropped() const;

private:
    [[nodiscard]] bool has_room(std::chrono::milliseconds patience) const;

    int descriptor_;
    std::chrono::milliseconds patience_;
    bool stuck_ = false;
    std::uint64_t dropped_ = 0;
};

}  // namespace aliquot
