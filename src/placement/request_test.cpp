// SPDX-License-Identifier: Apache-2.0
#include "placement/request.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

std::string wrong_with(const Request& request) {
    const auto result = checked(request);
    return result ? "" : result.error().message;
}

TEST(Request, TakesEveryFormOfAskingForAGpu) {
    EXPECT_EQ(wrong_with({}), "");
    EXPECT_EQ(wrong_with({.gpus = 16, .milli = 1000}), "");
    EXPECT_EQ(wrong_with({.gpus = 1, .milli = 1}), "");
    EXPECT_EQ(wrong_with({.gpus = 1, .mib = 512}), "");
    EXPECT_EQ(wrong_with({.gpus = 1, .milli = 460, .mib = 512}), "");
    EXPECT_EQ(wrong_with({.gpus = 1, .mig_profile = "1g.5gb"}), "");
}

TEST(Request, SaysWhatIsWrong) {
    EXPECT_EQ(wrong_with({.cpu_milli = -1}), "request: cpu_milli is -1, expected 0 or more");
    EXPECT_EQ(wrong_with({.memory_mib = -2}), "request: memory_mib is -2, expected 0 or more");
    EXPECT_EQ(wrong_with({.gpus = 1, .mib = -3}), "request: mib is -3, expected 0 or more");
    EXPECT_EQ(wrong_with({.gpus = 17, .milli = 1000}), "request: gpus is 17, expected at most 16");
    EXPECT_EQ(wrong_with({.gpus = 1, .milli = 1001}),
              "request: milli is 1001, expected 0 to 1000 for each GPU");
    EXPECT_EQ(wrong_with({.gpus = 3, .milli = 460}),
              "request: gpus is 3 with 460 milli: a share is of one GPU");
    EXPECT_EQ(wrong_with({.gpus = 1}), "request: a share needs milli or mib");
    EXPECT_EQ(wrong_with({.milli = 100}), "request: milli or mib without a GPU: set gpus to 1");
    EXPECT_EQ(wrong_with({.gpus = 2, .mig_profile = "1g.5gb"}),
              "request: MIG profile 1g.5gb stands for one GPU and no milli or mib beside it");
    EXPECT_EQ(wrong_with({.gpus = 1, .mib = 5, .mig_profile = "1g.5gb"}),
              "request: MIG profile 1g.5gb stands for one GPU and no milli or mib beside it");
}

TEST(Request, BringsEqualRequestsToOneForm) {
    const auto one = checked({.gpus = 1,
                              .milli = 1000,
                              .mib = 77,
                              .models = {"T4", "A2", "T4"},
                              .selector = {{"b", "1"}, {"a", "2"}}});
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(one->mib, 0);  // a whole GPU has all of its memory
    EXPECT_EQ(one->models, (std::vector<std::string>{"A2", "T4"}));
    EXPECT_EQ(one->selector.front().first, "a");
    EXPECT_TRUE(checked({.models = {"T4"}})->models.empty());  // no GPU, no model
}

TEST(Request, TellsASharedGpuFromWholeOnes) {
    EXPECT_TRUE((Request{.gpus = 1, .milli = 999}.is_share()));
    EXPECT_FALSE((Request{.gpus = 1, .milli = 1000}.is_share()));
    EXPECT_FALSE((Request{.gpus = 1, .mig_profile = "1g.5gb"}.is_share()));
    EXPECT_EQ((Request{.gpus = 8, .milli = 1000}.gpu_milli()), 8'000);
}

}  // namespace
}  // namespace aliquot::placement
