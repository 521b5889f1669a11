// SPDX-License-Identifier: Apache-2.0
#include "agent/recent_grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kIds{"GPU-a::0", "GPU-a::1"};
constexpr char kGpu[] = "nvidia.com/gpu";

TEST(RecentGrants, AGrantIsAClaimUntilKubeletListsIt) {
    RecentGrants book;
    ASSERT_TRUE(book.begin(kGpu, kIds));
    EXPECT_THAT(book.recent(), SizeIs(2));
    EXPECT_TRUE(book.granted_within({"GPU-a"}, 1min));
    EXPECT_FALSE(book.granted_within({"GPU-b"}, 1min));
}

TEST(RecentGrants, WhatKubeletTellsInTheSameMomentMayBeAnEarlierHolder) {
    RecentGrants book;
    ASSERT_TRUE(book.begin(kGpu, kIds));
    book.note_listed(book.recent());
    EXPECT_THAT(book.recent(), SizeIs(2));
}

TEST(RecentGrants, ARefusedGrantIsForgotten) {
    RecentGrants book;
    ASSERT_TRUE(book.begin(kGpu, kIds));
    ASSERT_TRUE(book.begin("other", kIds));
    book.undo(kGpu, kIds);
    ASSERT_THAT(book.recent(), SizeIs(2));
    EXPECT_EQ(book.recent()[0].resource, "other");
}

TEST(RecentGrants, NothingOfAClosedDeviceIsGranted) {
    RecentGrants book;
    ASSERT_TRUE(book.close({{"GPU-a"}}, book.version()));
    const auto refused = book.begin(kGpu, kIds);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("GPU-a::0"));
    EXPECT_THAT(book.recent(), IsEmpty());
    const std::vector<std::string> other{"GPU-b::0"};
    EXPECT_TRUE(book.begin(kGpu, other));
    book.open();
    EXPECT_TRUE(book.begin(kGpu, kIds));
}

TEST(RecentGrants, ADeviceIsNotClosedWhenAGrantCameBetween) {
    RecentGrants book;
    const auto version = book.version();
    ASSERT_TRUE(book.begin(kGpu, kIds));
    EXPECT_FALSE(book.close({{"GPU-a"}}, version));
    EXPECT_TRUE(book.begin(kGpu, kIds));
}

}  // namespace
}  // namespace aliquot::agent
