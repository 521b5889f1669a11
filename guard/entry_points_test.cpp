// SPDX-License-Identifier: Apache-2.0
//
// abi/cuda_entry_points.inc says what the guard does about every entry point of the driver, and the
// guard does it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace aliquot::guard {
namespace {

enum class Does : unsigned char { kMemory, kTime, kMemoryAndTime, kPasses };

struct Row {
    const char* exported;
    Does does;
    const char* because;
};

constexpr Row kRows[] = {
#define CUDA_ENTRY(exported, does, because) {#exported, Does::does, because},
#include "abi/cuda_entry_points.inc"
#undef CUDA_ENTRY
};

std::set<std::string> hooks() {
    return {
#define HOOK(symbol, like) #symbol,
#include "guard/hooks.inc"
#undef HOOK
    };
}

std::set<std::string> symbols() {
    return {
#define CUDA_SYMBOL(base, version, per_thread, exported) #exported,
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    };
}

TEST(EntryPoints, EachHasARowThatSaysWhatTheGuardDoesAndWhy) {
    std::set<std::string> left = symbols();
    std::string before;
    for (const Row& row : kRows) {
        EXPECT_EQ(left.erase(row.exported), 1U)
            << row.exported << ": not in abi/cuda_symbols.inc, or there twice";
        EXPECT_LT(before, row.exported) << "rows are ordered by symbol";
        EXPECT_GT(std::string(row.because).size(), 3U) << row.exported;
        before = row.exported;
    }
    for (const std::string& symbol : left) {
        ADD_FAILURE() << symbol
                      << ": no row in abi/cuda_entry_points.inc; does it take memory of a "
                      << "GPU, keep it alive, or start work?";
    }
}

TEST(EntryPoints, WhatCountsIsHookedAndWhatIsHookedCounts) {
    std::set<std::string> left = hooks();
    for (const Row& row : kRows) {
        const bool hooked = left.erase(row.exported) == 1;
        if (row.does == Does::kPasses) {
            EXPECT_FALSE(hooked) << row.exported << ": the table says that it passes through";
        } else {
            EXPECT_TRUE(hooked) << row.exported
                                << " counts, and guard/hooks.inc has no hook for it";
        }
    }
    for (const std::string& symbol : left) ADD_FAILURE() << symbol << ": a hook of no entry point";
}

TEST(EntryPoints, OfTwoStreamsAreTreatedAlike) {
    std::map<std::string, Does> rows;
    for (const Row& row : kRows) rows[row.exported] = row.does;
    for (const auto& [symbol, does] : rows) {
        for (const char* suffix : {"_ptsz", "_ptds"}) {
            if (!symbol.ends_with(suffix)) continue;
            const auto plain = rows.find(symbol.substr(0, symbol.size() - 5));
            if (plain == rows.end()) continue;
            EXPECT_EQ(plain->second, does) << symbol;
        }
    }
}

}  // namespace
}  // namespace aliquot::guard
