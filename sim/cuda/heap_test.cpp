// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kGi = 1ULL << 30;

TEST(Arena, TellsWhichBlocksAnAddressLiesIn) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(kGi, false));
    const auto first = arena.take_blocks(3 * kBlockBytes + 1, Use::kPlain, 7);
    const auto second = arena.take_blocks(5, Use::kArray, 8);
    const auto found = arena.blocks_at(first + 2 * kBlockBytes + 99);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->address, first);
    EXPECT_EQ(found->bytes, 3 * kBlockBytes + 1);
    EXPECT_EQ(found->span, 4 * kBlockBytes);
    EXPECT_EQ(found->owner, 7U);
    EXPECT_EQ(arena.blocks_at(second + 5)->use, Use::kArray);
    EXPECT_FALSE(arena.blocks_at(second + 4 * kBlockBytes));
    arena.give_blocks(first);
    EXPECT_FALSE(arena.blocks_at(first));
    EXPECT_FALSE(arena.blocks_at(first + kBlockBytes));
    EXPECT_TRUE(arena.blocks_at(second));
}

TEST(Arena, GivesOutEverythingAndNoMore) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(64 * kBlockBytes, false));
    EXPECT_EQ(arena.take_blocks(65 * kBlockBytes, Use::kPlain, 1), 0U);
    const auto all = arena.take_blocks(64 * kBlockBytes, Use::kPlain, 1);
    EXPECT_NE(all, 0U);
    EXPECT_EQ(arena.take_blocks(1, Use::kPlain, 1), 0U);
    arena.give_blocks(all);
    EXPECT_EQ(arena.take_blocks(64 * kBlockBytes, Use::kPlain, 1), all);
}

TEST(Arena, OfTheOldInterfaceLiesLow) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(kGi, true));
    const auto address = arena.take_blocks(100, Use::kPlain, 1);
    EXPECT_LT(address, 4 * kGi);
}

/// Random taking and giving, beside a plain map of what is taken.
TEST(Arena, NeverHandsOutWhatIsTaken) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(512 * kBlockBytes, false));
    std::mt19937 random(5);
    std::map<std::uint64_t, std::uint64_t> taken;  // address -> span
    for (int step = 0; step < 20000; ++step) {
        if (random() % 2 == 0 || taken.empty()) {
            const std::uint64_t bytes = (1 + random() % 20) * kBlockBytes - random() % 1000;
            const auto address = arena.take_blocks(bytes, Use::kPlain, 1);
            if (address == 0) continue;
            const auto span = arena.blocks_at(address)->span;
            const auto after = taken.lower_bound(address);
            ASSERT_TRUE(after == taken.end() || address + span <= after->first);
            ASSERT_TRUE(after == taken.begin() ||
                        std::prev(after)->first + std::prev(after)->second <= address);
            taken[address] = span;
            continue;
        }
        auto victim = taken.begin();
        std::advance(victim, random() % taken.size());
        ASSERT_EQ(arena.blocks_at(victim->first + victim->second - 1)->address, victim->first);
        arena.give_blocks(victim->first);
        ASSERT_FALSE(arena.blocks_at(victim->first));
        taken.erase(victim);
    }
    std::size_t seen = 0;
    arena.for_each([&](const Allocation& allocation) {
        EXPECT_EQ(taken.at(allocation.address), allocation.span);
        ++seen;
    });
    EXPECT_EQ(seen, taken.size());
}

TEST(Heap, PacksSmallOnesAndSaysWhenAChunkIsEmpty) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(kGi, false));
    Heap heap(arena, 1);
    EXPECT_EQ(heap.take(100, Use::kPlain, 3), 0U);
    const auto chunk = arena.take_blocks(kBlockBytes, Use::kChunk, 1);
    heap.add_chunk(chunk, kBlockBytes);
    std::vector<std::uint64_t> all;
    while (const auto address = heap.take(1000, Use::kPlain, 3)) all.push_back(address);
    EXPECT_EQ(all.size(), kBlockBytes / 1024);
    const auto blocks = *arena.blocks_at(chunk);
    const auto found = cells_at(arena, blocks, all[5] + 999);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->address, all[5]);
    EXPECT_EQ(found->bytes, 1000U);
    EXPECT_EQ(found->owner, 3U);
    EXPECT_EQ(allocations_in(arena, blocks).size(), all.size());
    std::ranges::shuffle(all, std::mt19937(1));
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(heap.give(all[i]), i + 1 == all.size() ? chunk : 0);
    }
    EXPECT_EQ(heap.used_bytes(), 0U);
    EXPECT_EQ(heap.empty_chunk(), chunk);
    EXPECT_EQ(heap.remove_chunk(chunk), kBlockBytes);
    EXPECT_EQ(heap.reserved_bytes(), 0U);
    EXPECT_EQ(heap.take(100, Use::kPlain, 3), 0U);
}

TEST(Heap, StaysWithinItsChunks) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(kGi, false));
    Heap first(arena, 1);
    Heap second(arena, 2);
    std::mt19937 random(3);
    std::map<std::uint64_t, Heap*> taken;
    for (int step = 0; step < 20000; ++step) {
        if (random() % 5 < 3 || taken.empty()) {
            Heap& heap = random() % 2 == 0 ? first : second;
            const std::uint64_t bytes = 1 + random() % (kBlockBytes / 2);
            auto address = heap.take(bytes, Use::kPlain, 1);
            if (address == 0) {
                const auto chunk = arena.take_blocks(kBlockBytes, Use::kChunk, heap.id());
                if (chunk == 0) continue;
                heap.add_chunk(chunk, kBlockBytes);
                address = heap.take(bytes, Use::kPlain, 1);
            }
            ASSERT_EQ(arena.blocks_at(address)->owner, heap.id());
            ASSERT_EQ(arena.blocks_at(address + bytes - 1)->address,
                      arena.blocks_at(address)->address);
            ASSERT_TRUE(taken.emplace(address, &heap).second);
            continue;
        }
        auto victim = taken.begin();
        std::advance(victim, random() % taken.size());
        if (const auto chunk = victim->second->give(victim->first); chunk != 0) {
            victim->second->remove_chunk(chunk);
            arena.give_blocks(chunk);
        }
        taken.erase(victim);
    }
}

}  // namespace
}  // namespace aliquot::sim
