// SPDX-License-Identifier: Apache-2.0
#include "guard/records.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace aliquot::guard {
namespace {

Record memory(std::uint64_t bytes) {
    Record record;
    record.bytes = bytes;
    record.kind = Kind::kMemory;
    return record;
}

TEST(Records, DoWhatAMapDoes) {
    auto records = std::make_unique<Records>();
    std::map<std::uint64_t, std::uint64_t> model;
    std::mt19937_64 random(7);
    for (int step = 0; step < 200'000; ++step) {
        // Few keys, some of them close together, as addresses are.
        const std::uint64_t key = (random() % 3000) * 512 + 0x7f00'0000'0000;
        Record found;
        switch (random() % 4) {
            case 0:
            case 1: {
                const std::uint64_t bytes = random() % 1000 + 1;
                ASSERT_TRUE(records->put(key, memory(bytes)));
                model[key] = bytes;
                break;
            }
            case 2: {
                const bool there = records->take(key, found);
                ASSERT_EQ(there, model.count(key) == 1);
                if (there) {
                    ASSERT_EQ(found.bytes, model[key]);
                }
                model.erase(key);
                break;
            }
            default: {
                const bool there = records->look(key, found);
                ASSERT_EQ(there, model.count(key) == 1);
                if (there) {
                    ASSERT_EQ(found.bytes, model[key]);
                }
            }
        }
    }
    std::uint64_t sum = 0;
    records->take_all([&](const Record& record) {
        sum += record.bytes;
        return true;
    });
    std::uint64_t expected = 0;
    for (const auto& [key, bytes] : model) expected += bytes;
    EXPECT_EQ(sum, expected);
}

TEST(Records, TheNewestAreFoundLikeTheOthers) {
    auto records = std::make_unique<Records>();
    std::map<std::uint64_t, std::uint64_t> model;
    std::mt19937_64 random(11);
    for (int step = 0; step < 200'000; ++step) {
        const std::uint64_t key = (random() % 3000) * 4096 + 0x7f00'0000'0000;
        Record found;
        if (model.count(key) == 0 && random() % 2 == 0) {
            ASSERT_TRUE(records->add(key, memory(static_cast<std::uint64_t>(step) + 1)));
            model[key] = static_cast<std::uint64_t>(step) + 1;
        } else if (random() % 2 == 0) {
            ASSERT_EQ(records->look(key, found), model.count(key) == 1);
            if (model.count(key) == 1) {
                ASSERT_EQ(found.bytes, model[key]);
            }
        } else {
            const bool there = records->take(key, found);
            ASSERT_EQ(there, model.count(key) == 1);
            model.erase(key);
        }
    }
    std::uint64_t count = 0;
    records->take_all([&](const Record&) {
        ++count;
        return true;
    });
    EXPECT_EQ(count, model.size());
}

TEST(Records, TakeAllLeavesTheOthers) {
    auto records = std::make_unique<Records>();
    for (std::uint64_t i = 1; i <= 10'000; ++i) {
        Record record = memory(i);
        record.context = i % 3;
        records->put(i * 4096, record);
    }
    records->take_all([](const Record& record) { return record.context == 1; });
    for (std::uint64_t i = 1; i <= 10'000; ++i) {
        Record record;
        ASSERT_EQ(records->look(i * 4096, record), i % 3 != 1) << i;
    }
}

TEST(Records, MayBeUsedByManyThreads) {
    auto records = std::make_unique<Records>();
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&records, t] {
            for (std::uint64_t i = 1; i <= 20'000; ++i) {
                const std::uint64_t key = (t << 32) + i * 512;
                Record record;
                if (!records->put(key, memory(i))) ADD_FAILURE();
                if (i % 2 == 0 && !records->take(key, record)) ADD_FAILURE();
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::uint64_t count = 0;
    records->take_all([&](const Record&) {
        ++count;
        return true;
    });
    EXPECT_EQ(count, 40'000U);
}

TEST(Records, ForgetEmpties) {
    auto records = std::make_unique<Records>();
    records->put(42, memory(1));
    records->forget();
    Record record;
    EXPECT_FALSE(records->look(42, record));
    EXPECT_TRUE(records->put(42, memory(2)));
}

}  // namespace
}  // namespace aliquot::guard
