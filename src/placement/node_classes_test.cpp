// SPDX-License-Identifier: Apache-2.0
#include "placement/node_classes.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

Shape whole(std::uint8_t gpus, std::int32_t cpu) {
    return {.cpu = cpu, .gpus = gpus, .milli = kWholeGpu};
}

TEST(NodeClass, HasSlotsForWholeGpusByGpusAndCpu) {
    const NodeClass one{.model = 0, .devices = 8, .cpu = 96'000};
    EXPECT_EQ(one.slots(whole(8, 88'000)), 1U);
    EXPECT_EQ(one.slots(whole(8, 96'001)), 0U);
    EXPECT_EQ(one.slots(whole(2, 8'000)), 4U);
    EXPECT_EQ(one.slots(whole(2, 40'000)), 2U);
    EXPECT_EQ(one.slots(whole(4, 0)), 2U);
    EXPECT_EQ(one.slots(whole(1, 1'000)), 0U);  // no large task
    EXPECT_EQ(one.slots({.cpu = 1'000}), 0U);
    EXPECT_EQ((NodeClass{.model = 0, .devices = 4, .cpu = 96'000}).slots(whole(8, 1'000)), 0U);
}

TEST(NodeClasses, AreOfNodesThatAreAlike) {
    NodeTable nodes;
    for (const std::int32_t cpu : {96'000, 128'000, 96'000})
        ASSERT_TRUE(nodes
                        .add_node({.name = "n" + std::to_string(nodes.size()),
                                   .cpu_milli = cpu,
                                   .memory_mib = 1'024,
                                   .devices = 8,
                                   .model = "A2"})
                        .ok());
    NodeClasses classes;
    classes.reset(nodes);
    ASSERT_EQ(classes.all().size(), 2U);
    EXPECT_EQ(classes.index_of(0), classes.index_of(2));
    EXPECT_EQ(classes.all()[classes.index_of(1)].cpu, 128'000);
    EXPECT_EQ(classes.all()[classes.index_of(1)].devices, 8U);
}

}  // namespace
}  // namespace aliquot::placement
