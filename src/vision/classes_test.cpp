// SPDX-License-Identifier: Apache-2.0
#include "vision/classes.h"

#include <gmock/gmock.h>

#include <cmath>

namespace aliquot::vision {
namespace {

using testing::ElementsAre;

TEST(Classes, ProbabilitiesStayAsTheyAre) {
    const auto best = read_classes(std::vector<float>{0.1F, 0.7F, 0.2F}, 2);
    ASSERT_EQ(best.size(), 2U);
    EXPECT_EQ(best[0].label, 1U);
    EXPECT_FLOAT_EQ(best[0].score, 0.7F);
    EXPECT_EQ(best[1].label, 2U);
}

TEST(Classes, OtherNumbersGoThroughSoftmax) {
    const auto best = read_classes(std::vector<float>{1, 3, -2, 1000}, 9);
    ASSERT_EQ(best.size(), 4U);
    EXPECT_EQ(best[0].label, 3U);
    EXPECT_FLOAT_EQ(best[0].score, 1.0F);
    const auto two = read_classes(std::vector<float>{0, std::log(3.0F)}, 1);
    EXPECT_NEAR(two[0].score, 0.75F, 1e-5F);
}

TEST(Classes, WhatIsNoNumberIsTheLeast) {
    const auto best = read_classes(std::vector<float>{NAN, 2, INFINITY, 1}, 4);
    EXPECT_EQ(best[0].label, 1U);
    EXPECT_EQ(best[1].label, 3U);
    EXPECT_FLOAT_EQ(best[2].score, 0);
    EXPECT_EQ(read_classes(std::vector<float>{NAN}, 1)[0].score, 0);
    EXPECT_TRUE(read_classes({}, 3).empty());
}

TEST(Classes, LabelsAreReadFromAModelAndFromAFile) {
    EXPECT_THAT(read_labels("{0: 'person', 2: \"dog's\", 1: 'tr\\'am'}"),
                ElementsAre("person", "tr'am", "dog's"));
    EXPECT_THAT(read_labels("{\"0\": \"cat\"}"), ElementsAre("cat"));
    EXPECT_THAT(read_labels("person\r\n dog \n"), ElementsAre("person", "dog"));
    EXPECT_TRUE(read_labels("{").empty());
    EXPECT_TRUE(read_labels("{999999999: 'x'}").empty());
    EXPECT_THAT(read_labels("{0: 'cut"), ElementsAre("cut"));
}

}  // namespace
}  // namespace aliquot::vision
