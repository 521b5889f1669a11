// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace aliquot::placement {

/// One key per position; finds the largest, the lowest position among equals. A tree of blocks of
/// 64, so that three or four short scans answer for 100,000 positions.
class KeyTree {
public:
    using Key = std::int32_t;
    static constexpr Key kNone = std::numeric_limits<Key>::min();  // not eligible

    /// Grows (never shrinks); new positions are kNone.
    void resize(std::size_t positions) {
        if (levels_.empty()) levels_.emplace_back();
        std::size_t wanted = positions;
        for (std::size_t level = 0;; ++level) {
            const std::size_t padded = (wanted + kBlock - 1) / kBlock * kBlock;
            if (levels_.size() == level) grow_level(level);
            if (levels_[level].size() < padded) levels_[level].resize(padded, kNone);
            if (padded <= kBlock) break;
            wanted = padded / kBlock;
        }
    }

    [[nodiscard]] Key at(std::size_t position) const { return levels_[0][position]; }

    /// The position is soon to be set.
    void ask_for(std::size_t position) const { __builtin_prefetch(&levels_[0][position], 1); }

    void set(std::size_t position, Key key) {
        std::size_t index = position;
        for (std::size_t level = 0;; ++level) {
            const Key old = levels_[level][index];
            if (old == key) return;
            levels_[level][index] = key;
            if (level + 1 == levels_.size()) return;
            index /= kBlock;
            const Key above = levels_[level + 1][index];
            if (key < above) {
                if (old != above) return;  // it was not the largest of its block
                key = largest(level, index);
            }
        }
    }

    struct Best {
        Key key = kNone;
        std::size_t position = 0;
    };

    [[nodiscard]] Best best() const {
        if (levels_.empty() || levels_.back().empty()) return {};
        std::size_t level = levels_.size() - 1;
        const Key key = largest(level, 0);
        if (key == kNone) return {};
        std::size_t block = 0;
        while (true) {
            const Key* keys = &levels_[level][block * kBlock];
            const std::size_t index =
                block * kBlock +
                static_cast<std::size_t>(std::find(keys, keys + kBlock, key) - keys);
            if (level == 0) return {key, index};
            --level;
            block = index;
        }
    }

    [[nodiscard]] std::size_t bytes() const {
        std::size_t sum = 0;
        for (const auto& level : levels_) sum += level.capacity() * sizeof(Key);
        return sum;
    }

private:
    static constexpr std::size_t kBlock = 64;

    [[nodiscard]] Key largest(std::size_t level, std::size_t block) const {
        const Key* keys = &levels_[level][block * kBlock];
        Key most = kNone;
        for (std::size_t i = 0; i < kBlock; ++i) most = std::max(most, keys[i]);
        return most;
    }

    void grow_level(std::size_t level) {
        std::vector<Key> above(levels_[level - 1].size() / kBlock);
        for (std::size_t block = 0; block < above.size(); ++block)
            above[block] = largest(level - 1, block);
        above.resize((above.size() + kBlock - 1) / kBlock * kBlock, kNone);
        levels_.push_back(std::move(above));
    }

    std::vector<std::vector<Key>> levels_;  // 0: the keys; each above: largest of 64 below
};

}  // namespace aliquot::placement
