// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling/books.h"

namespace aliquot::scheduling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kWhole[] = "nvidia.com/gpu";
constexpr char kShared[] = "nvidia.com/gpu.shared";

ServedNode node_with(const std::string& name, const std::string& resource, unsigned gpus,
                     unsigned units) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({name + "-" + std::to_string(i), {{resource, units}}});
    return made;
}

GpuPod asking(const std::string& name, const std::string& resource, unsigned count,
              std::int32_t priority = 0) {
    return {.uid = name,
            .name_space = "team",
            .name = name,
            .is_gated = true,
            .priority = priority,
            .devices = {{"main", resource, count}}};
}

GpuPod on(GpuPod pod, const std::string& node) {
    pod.is_gated = false;
    pod.node = node;
    return pod;
}

TEST(NearMisses, NameTheFewestPodsThatWouldHaveToEnd) {
    Books books;
    books.set_node(node_with("a", kWhole, 4, 1));
    books.set_node(node_with("b", kWhole, 4, 1));
    for (const char* const name : {"a1", "a2", "a3", "a4"})
        books.set_pod(on(asking(name, kWhole, 1), "a"));
    books.set_pod(on(asking("big", kWhole, 3), "b"));
    const auto misses = books.near_misses(asking("new", kWhole, 2), 5);
    ASSERT_EQ(misses.size(), 2U);
    EXPECT_EQ(misses[0].node, "b");
    EXPECT_THAT(misses[0].ends, ElementsAre("team/big"));
    EXPECT_THAT(misses[0].why, HasSubstr("has 1 of 4 nvidia.com/gpu free, 2 are asked"));
    EXPECT_EQ(misses[1].node, "a");
    EXPECT_EQ(misses[1].ends.size(), 2U);
}

TEST(NearMisses, TakeSharesFromOneGpuWhereAllUnitsMustBeOfOne) {
    Books books;
    ServedNode node = node_with("a", kShared, 2, 4);
    node.on_one_gpu = {kShared};
    node.granted = {{"x1", {{kShared, {{"a-0", 2}}}}},
                    {"x2", {{kShared, {{"a-0", 2}}}}},
                    {"y1", {{kShared, {{"a-1", 1}}}}},
                    {"y2", {{kShared, {{"a-1", 2}}}}}};
    books.set_node(node);
    books.set_pod(on(asking("x1", kShared, 2), "a"));
    books.set_pod(on(asking("x2", kShared, 2), "a"));
    books.set_pod(on(asking("y1", kShared, 1), "a"));
    books.set_pod(on(asking("y2", kShared, 2), "a"));
    const auto three = books.near_misses(asking("new", kShared, 3), 1);
    ASSERT_EQ(three.size(), 1U);
    EXPECT_THAT(three[0].ends, ElementsAre("team/y2"));
    const auto four = books.near_misses(asking("new", kShared, 4), 1);
    EXPECT_THAT(four[0].ends, testing::UnorderedElementsAre("team/y1", "team/y2"));
    EXPECT_THAT(books.near_misses(asking("new", kShared, 5), 1)[0].ends, IsEmpty());
}

TEST(NearMisses, PreferToEndWhatMattersLess) {
    Books books;
    books.set_node(node_with("a", kWhole, 2, 1));
    books.set_pod(on(asking("important", kWhole, 1, 100), "a"));
    books.set_pod(on(asking("other", kWhole, 1, 1), "a"));
    const auto misses = books.near_misses(asking("new", kWhole, 1), 1);
    ASSERT_EQ(misses.size(), 1U);
    EXPECT_THAT(misses[0].ends, ElementsAre("team/other"));
}

TEST(NearMisses, PutNodesThatAreClosedToThePodLast) {
    Books books;
    ServedNode closed = node_with("a", kWhole, 8, 1);
    closed.is_open = false;
    books.set_node(closed);
    books.set_node(node_with("b", kWhole, 1, 1));
    books.set_pod(on(asking("busy", kWhole, 1), "b"));
    const auto misses = books.near_misses(asking("new", kWhole, 1), 5);
    ASSERT_EQ(misses.size(), 2U);
    EXPECT_EQ(misses[0].node, "b");
    EXPECT_EQ(misses[1].node, "a");
    EXPECT_EQ(misses[1].why, "is cordoned or not ready");
    EXPECT_THAT(misses[1].ends, IsEmpty());
    EXPECT_EQ(books.near_misses(asking("new", kWhole, 1), 1).size(), 1U);
}

}  // namespace
}  // namespace aliquot::scheduling
