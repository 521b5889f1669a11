// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace aliquot::cost {

/// Finds the entries of a vector by a key, with no allocation for each as std::unordered_map has: entries are only
/// added, and all go at once. Entry: has `key`; Key: comparable, with `std::uint64_t hash() const`.
template <class Entry>
class Index {
public:
    /// The entry with this key; a new one, default but for its key, where there is none.
    /// Valid until the next call.
    template <class Key>
    Entry& at(const Key& key) {
        if (entries_.size() * 2 >= slots_.size()) grow();
        std::uint32_t& slot = slot_of(key);
        if (slot == kEmpty) {
            slot = static_cast<std::uint32_t>(entries_.size());
            entries_.emplace_back().key = key;
        }
        return entries_[slot];
    }
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    void clear() {
        entries_.clear();
        std::ranges::fill(slots_, kEmpty);
    }

private:
    static constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t kFirst = 64;

    template <class Key>
    std::uint32_t& slot_of(const Key& key) {
        std::size_t i = key.hash() & (slots_.size() - 1);
        while (slots_[i] != kEmpty && !(entries_[slots_[i]].key == key)) {
            i = (i + 1) & (slots_.size() - 1);
        }
        return slots_[i];
    }
    void grow() {
        slots_.assign(std::max(kFirst, std::bit_ceil(slots_.size() + 1)), kEmpty);
        for (std::uint32_t i = 0; i < entries_.size(); ++i) slot_of(entries_[i].key) = i;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;
};

}  // namespace aliquot::cost
