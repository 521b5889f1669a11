// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "abi/region.h"

/// Figures of the ledger. Their order among each other is the lock's to keep.
namespace aliquot::guard {

inline std::uint64_t value(const std::atomic<std::uint64_t>& figure) {
    return figure.load(std::memory_order_relaxed);
}
inline std::uint64_t value(const abi::Fenced& figure) {
    return figure.load(std::memory_order_relaxed);
}
inline std::uint64_t less(std::uint64_t from, std::uint64_t by) {
    return from < by ? 0 : from - by;
}

/// A generation of the ledger's lock; they go round.
using Generation = std::uint16_t;
inline bool is_newer(Generation one, Generation other) {
    return one != other && static_cast<Generation>(one - other) < 0x8000;
}
inline Generation generation_of(std::uint64_t fenced_word) {
    return static_cast<Generation>(fenced_word >> abi::kFencedShift);
}
inline Generation lock_generation(std::uint32_t lock_word) {
    return static_cast<Generation>((lock_word & abi::kLockGeneration) >> abi::kLockShift);
}

/// Stores what the holder of the lock of that generation has made of the figure.
/// returns  false: the lock was taken from it; nothing is stored
inline bool put(abi::Fenced& figure, Generation generation, std::uint64_t to) {
    std::uint64_t word = figure.word.load(std::memory_order_relaxed);
    if (is_newer(generation_of(word), generation)) return false;
    if (to > abi::kMostFenced) to = abi::kMostFenced;
    return figure.word.compare_exchange_strong(word,
                                               std::uint64_t{generation} << abi::kFencedShift | to);
}

/// Keeps everybody out who held the lock before that generation.
/// returns  false: somebody has it of a later one
inline bool fence_off(abi::Fenced& figure, Generation generation) {
    std::uint64_t word = figure.word.load(std::memory_order_relaxed);
    while (generation_of(word) != generation) {
        if (is_newer(generation_of(word), generation)) return false;
        const std::uint64_t next =
            std::uint64_t{generation} << abi::kFencedShift | (word & abi::kMostFenced);
        if (figure.word.compare_exchange_weak(word, next)) return true;
    }
    return true;
}

/// A change of a figure that its own process alone changes, under whatever generation.
template <class Change>
void alter(abi::Fenced& figure, Change change) {
    std::uint64_t word = figure.word.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        std::uint64_t to = change(word & abi::kMostFenced);
        if (to > abi::kMostFenced) to = abi::kMostFenced;
        next = (word & ~abi::kMostFenced) | to;
    } while (!figure.word.compare_exchange_weak(word, next));
}

inline void raise_to(std::atomic<std::uint64_t>& highest, std::uint64_t to) {
    std::uint64_t seen = highest.load(std::memory_order_relaxed);
    while (seen < to && !highest.compare_exchange_weak(seen, to)) {
    }
}

/// The halves of a UUID as words.
struct UuidWords {
    std::uint64_t half[2];
    friend bool operator==(const UuidWords& a, const UuidWords& b) {
        return a.half[0] == b.half[0] && a.half[1] == b.half[1];
    }
};
using AliasedWord __attribute__((may_alias)) = std::uint64_t;
/// One that does not change.
inline UuidWords words_of(const abi::DeviceUuid& uuid) {
    UuidWords words;
    std::memcpy(words.half, uuid.bytes, sizeof words.half);
    return words;
}
/// One of the ledger, where others may be changing it.
inline UuidWords words_in(const abi::DeviceLedger& device) {
    const auto* half = reinterpret_cast<const AliasedWord*>(device.uuid.bytes);
    return {{__atomic_load_n(half, __ATOMIC_ACQUIRE), __atomic_load_n(half + 1, __ATOMIC_ACQUIRE)}};
}
/// Makes one of the ledger another, if nobody else does.
inline bool replace(abi::DeviceLedger& device, UuidWords from, UuidWords to) {
    auto* half = reinterpret_cast<AliasedWord*>(device.uuid.bytes);
    for (unsigned i = 0; i < 2; ++i)
        if (!__atomic_compare_exchange_n(half + i, &from.half[i], to.half[i], false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return false;
    return true;
}

}  // namespace aliquot::guard
