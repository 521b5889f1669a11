// SPDX-License-Identifier: Apache-2.0
#include "gpu/inventory.h"

#include <gtest/gtest.h>

namespace aliquot::gpu {
namespace {

Gpu board(unsigned index, const char* uuid, unsigned bus) {
    return {
        .index = index, .uuid = {uuid}, .minor = index, .model = "NVIDIA A2", .pci = {0, bus, 0}};
}
Inventory two() { return {.gpus = {board(0, "GPU-a", 1), board(1, "GPU-b", 2)}}; }

TEST(Inventory, ALostGpuKeepsTheIdentityItHad) {
    Inventory now = two();
    now.gpus[1] = {.index = 1, .health = {Health::State::kUnhealthy, "GPU is lost"}};
    const Inventory result = with_memory_of(two(), now);
    ASSERT_EQ(result.gpus.size(), 2U);
    EXPECT_EQ(result.gpus[1].uuid.text, "GPU-b");
    EXPECT_EQ(result.gpus[1].model, "NVIDIA A2");
    EXPECT_EQ(result.gpus[1].health.reason, "GPU is lost");
}

TEST(Inventory, AGpuThatIsNotListedAnyMoreStaysAsUnhealthy) {
    Inventory now = two();
    now.gpus.erase(now.gpus.begin());
    now.gpus[0].index = 0;  // the driver numbers anew
    const Inventory result = with_memory_of(two(), now);
    ASSERT_EQ(result.gpus.size(), 2U);
    EXPECT_FALSE(result.find({"GPU-a"})->health.ok());
    EXPECT_TRUE(result.find({"GPU-b"})->health.ok());
}

TEST(Inventory, AnUnknownGpuNeverTakesTheNameOfOneThatAnswers) {
    Inventory now{.gpus = {{.index = 0, .health = {Health::State::kUnhealthy, "lost"}},
                           board(1, "GPU-a", 1)}};
    const Inventory result = with_memory_of({.gpus = {board(0, "GPU-a", 1)}}, now);
    ASSERT_EQ(result.gpus.size(), 2U);
    EXPECT_EQ(result.gpus[0].uuid.text, "");
    EXPECT_TRUE(result.find({"GPU-a"})->health.ok());
}

TEST(Inventory, WritesAPciAddressAsSysfsDoes) {
    EXPECT_EQ(to_text(PciAddress{.domain = 0, .bus = 0x3b, .device = 0}), "0000:3b:00.0");
}

}  // namespace
}  // namespace aliquot::gpu
