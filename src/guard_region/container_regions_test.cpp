// SPDX-License-Identifier: Apache-2.0
#include "guard_region/container_regions.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

std::string region_of(const ContainerRegions& containers, const std::string& path) {
    const ContainerGroup* const group = containers.find(path);
    return group == nullptr ? "" : group->region;
}

TEST(ContainerRegions, HoldAGroupAndAllThatIsBelow) {
    ContainerRegions containers;
    EXPECT_TRUE(containers.learn("/pods/a", "one"));
    EXPECT_TRUE(containers.learn("/pods/b", "two"));
    EXPECT_EQ(region_of(containers, "/pods/a"), "one");
    EXPECT_EQ(region_of(containers, "/pods/a/hidden/deeper"), "one");
    EXPECT_EQ(region_of(containers, "/pods/a/pods/b"), "one") << "a name of its own making";
    EXPECT_EQ(region_of(containers, "/pods/ab"), "");
    EXPECT_EQ(region_of(containers, "/pods"), "");
    EXPECT_EQ(region_of(containers, ""), "");
}

TEST(ContainerRegions, WhatIsKnownIsNotLearnedAnew) {
    ContainerRegions containers;
    EXPECT_TRUE(containers.learn("/pods/a/b", "one"));
    EXPECT_FALSE(containers.learn("/pods/a/b", "two"));
    EXPECT_FALSE(containers.learn("/pods/a/b/c", "two"));
    EXPECT_FALSE(containers.learn("/pods/a", "two")) << "it has another one inside";
    EXPECT_FALSE(containers.learn("/", "two"));
    EXPECT_FALSE(containers.learn("", "two"));
    EXPECT_FALSE(containers.learn("/pods/c", ""));
    EXPECT_EQ(containers.take_news(), (std::vector<ContainerGroup>{{"/pods/a/b", "one"}}));
    EXPECT_TRUE(containers.take_news().empty());
    containers.forget("one");
    EXPECT_TRUE(containers.learn("/pods/a", "two"));
}

TEST(ContainerRegions, AreNoMoreThanTheirLimit) {
    ContainerRegions containers;
    for (std::size_t i = 0; i < ContainerRegions::kMost; ++i) {
        ASSERT_TRUE(containers.learn("/c" + std::to_string(i), "r"));
    }
    EXPECT_FALSE(containers.learn("/more", "r"));
}

}  // namespace
}  // namespace aliquot::guard_region
