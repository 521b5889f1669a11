// SPDX-License-Identifier: Apache-2.0
#include "placement/type_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "placement/type_values.h"

namespace aliquot::placement {
namespace {

TEST(TypeValues, TimesCountsAreExact) {
    std::mt19937_64 random(5);
    constexpr std::int64_t kMost = std::int64_t{1'000'000} << 20;  // the dearest slot
    for (const std::size_t types : {1U, 8U, 33U, 64U, 65U, 128U}) {
        for (int round = 0; round < 200; ++round) {
            TypeValues<4> values;
            std::array<std::int16_t, kMostTypes> counts;
            counts.fill(7);
            std::int64_t expected = 0;
            for (std::size_t i = 0; i < types; ++i) {
                const bool most = round == 0;
                const std::int64_t value =
                    most ? kMost : static_cast<std::int64_t>(random() % (2 * kMost)) - kMost;
                counts[i] = static_cast<std::int16_t>(most ? 16'000 : random() % 16'001);
                values.set(i, value);
                expected += value * counts[i];
            }
            const std::size_t padded = (types + kBlockOfTypes - 1) / kBlockOfTypes * kBlockOfTypes;
            ASSERT_EQ(values.times(counts, padded), expected) << types << " types";
        }
    }
}

/// Tasks of one GPU by CPU alone, on a node whose devices take a thousand of each.
class CpuSlots : public testing::Test {
protected:
    void make(const std::vector<std::int32_t>& cpus) {
        NodeSpec spec;
        spec.name = "n";
        spec.model = "M";
        spec.cpu_milli = 1 << 30U;
        spec.memory_mib = 1 << 20U;
        spec.devices = 16;
        ASSERT_TRUE(books_.add_node(spec));
        std::vector<TaskType> types;
        for (const std::int32_t cpu : cpus) {
            Request request;
            request.cpu_milli = cpu;
            request.gpus = 1;
            request.milli = 1;
            types.push_back({.request = request, .popularity = 1});
        }
        table_.reset(books_, types, -2);
        const Node& node = books_.node(0);
        sums_.resize(TypeTable::kMostSums);
        table_.sum_up(node, sums_.data());
    }
    std::int16_t slots(std::size_t type, std::int32_t cpu) {
        TypeTable::Finds finds;
        table_.find(finds, sums_.data(), books_.node(0), cpu);
        return finds.slots[type];
    }
    NodeTable books_;
    TypeTable table_;
    std::vector<std::int16_t> sums_;
};

TEST_F(CpuSlots, AreThoseOfWholeNumbers) {
    std::mt19937 random(9);
    std::vector<std::int32_t> cpus{0, 1, 3, 7, 1'000, 11'908, 4'194'304};
    while (cpus.size() < 100) cpus.push_back(static_cast<std::int32_t>(1 + random() % 100'000));
    make(cpus);
    const auto expect = [&](std::size_t type, std::int32_t cpu) {
        constexpr std::int32_t kRoom = 16'000;
        const std::int32_t most = cpus[type] == 0 ? kRoom : std::min(kRoom, cpu / cpus[type]);
        ASSERT_EQ(slots(type, cpu), most) << cpu << " / " << cpus[type];
    };
    for (std::size_t type = 0; type < cpus.size(); ++type) {
        for (int round = 0; round < 300; ++round) {
            // Around whole quotients, where a rounded one would show; up to a million cores.
            const std::int64_t each = std::max(cpus[type], 1);
            const std::int64_t times = random() % 17'000;
            for (const std::int64_t cpu : {each * times - 1, each * times, each * times + 1})
                if (cpu >= 0 && cpu < (1 << 30U)) expect(type, static_cast<std::int32_t>(cpu));
        }
    }
}

}  // namespace
}  // namespace aliquot::placement
