// SPDX-License-Identifier: Apache-2.0
#include "placement/type_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace aliquot::placement {
namespace {

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
        TypeTable::find(finds, {.sums = sums_.data()}, table_.model(books_.node(0)), cpu);
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
