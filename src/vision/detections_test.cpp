// SPDX-License-Identifier: Apache-2.0
#include "vision/detections.h"

#include <gmock/gmock.h>

#include <cmath>

namespace aliquot::vision {
namespace {

using testing::HasSubstr;

OutputShape shape_of(std::vector<std::int64_t> axes, OutputLayout layout = OutputLayout::kAuto,
                     std::uint32_t classes = 0) {
    const auto read = read_output_shape(axes, layout, classes);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read.ok() ? *read : OutputShape{};
}

TEST(Detections, TheLayoutIsToldByTheShape) {
    EXPECT_EQ(shape_of({1, 25200, 85}).layout, OutputLayout::kBoxRows);
    EXPECT_EQ(shape_of({1, 25200, 85}).classes, 80U);
    EXPECT_EQ(shape_of({1, 84, 8400}).layout, OutputLayout::kChannels);
    EXPECT_EQ(shape_of({1, 84, 8400}).classes, 80U);
    EXPECT_EQ(shape_of({1, 300, 6}).layout, OutputLayout::kFinal);
    EXPECT_EQ(shape_of({1, 25200, 6}).layout, OutputLayout::kBoxRows);
    EXPECT_EQ(shape_of({1, 6, 8400}, OutputLayout::kAuto, 2).layout, OutputLayout::kChannels);
    EXPECT_EQ(shape_of({1, 300, 6}, OutputLayout::kBoxRows).classes, 1U);
}

TEST(Detections, AShapeThatFitsNoDetectorOrTheLabelsIsRefusedWithItsNumbers) {
    using Axes = std::vector<std::int64_t>;
    EXPECT_THAT(read_output_shape(Axes{1, 1000}, OutputLayout::kAuto, 0).error().message,
                HasSubstr("[1, 1000]"));
    EXPECT_THAT(read_output_shape(Axes{1, 84, 8400}, OutputLayout::kAuto, 3).error().message,
                HasSubstr("80 classes in layout channels, and there are 3 labels"));
    EXPECT_FALSE(read_output_shape(Axes{1, 4, 8400}, OutputLayout::kAuto, 0).ok());
    EXPECT_FALSE(read_output_shape(Axes{1, 300, 7}, OutputLayout::kFinal, 0).ok());
    EXPECT_FALSE(read_output_shape(Axes{1, -1, 6}, OutputLayout::kAuto, 0).ok());
}

/// Boxes as centre and size with a score for each of two classes.
struct Written {
    float x, y, width, height, first, second;
};

std::vector<float> as_channels(const std::vector<Written>& boxes) {
    std::vector<float> out;
    for (const auto field : {&Written::x, &Written::y, &Written::width, &Written::height,
                             &Written::first, &Written::second}) {
        for (const Written& box : boxes) out.push_back(box.*field);
    }
    return out;
}

TEST(Detections, ChannelsAndBoxRowsOfTheSameBoxesGiveTheSame) {
    std::vector<Written> boxes{{100, 100, 40, 20, 0.9F, 0.1F},
                               {102, 101, 40, 20, 0.8F, 0.1F},
                               {300, 300, 50, 50, 0.1F, 0.6F},
                               {300, 300, 50, 50, 0.1F, 0.2F}};
    boxes.resize(8);
    std::vector<float> rows;
    for (const Written& box : boxes) {
        rows.insert(rows.end(),
                    {box.x, box.y, box.width, box.height, 0.5F, box.first * 2, box.second * 2});
    }
    const auto a = read_detections(
        as_channels(boxes), shape_of({1, 6, 8}, OutputLayout::kChannels, 2), {}, 640, 640, {});
    const auto b = read_detections(rows, shape_of({1, 8, 7}), {}, 640, 640, {});
    ASSERT_EQ(a.size(), 2U);
    ASSERT_EQ(b.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_FLOAT_EQ(a[i].score, b[i].score);
        EXPECT_FLOAT_EQ(a[i].left, b[i].left);
        EXPECT_EQ(a[i].label, b[i].label);
    }
    EXPECT_FLOAT_EQ(a[0].left, 80);
    EXPECT_FLOAT_EQ(a[0].bottom, 110);
    EXPECT_EQ(a[0].label, 0U);
    EXPECT_EQ(a[1].label, 1U);
}

TEST(Detections, BoxesOfOtherClassesDoNotSilenceEachOther) {
    std::vector<Written> boxes{{100, 100, 40, 20, 0.9F, 0.1F}, {100, 100, 40, 20, 0.1F, 0.8F}};
    boxes.resize(8);
    EXPECT_EQ(read_detections(as_channels(boxes), shape_of({1, 6, 8}, OutputLayout::kChannels), {},
                              640, 640, {})
                  .size(),
              2U);
}

TEST(Detections, PlacesAreThoseOfTheFileAndInsideOfIt) {
    // A file of 1280x640, letterboxed to 640x640: half the size, 160 from the top.
    const Placement placement{.scale_x = 0.5, .scale_y = 0.5, .left = 0, .top = 160};
    const std::vector<float> rows{10,  170, 110, 220, 0.9F, 3,   // inside
                                  -50, 100, 700, 700, 0.8F, 1,   // over all edges
                                  100, 10,  200, 150, 0.7F, 1};  // in the grey above
    const auto found =
        read_detections(rows, shape_of({1, 3, 6}, OutputLayout::kFinal), placement, 1280, 640, {});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_FLOAT_EQ(found[0].left, 20);
    EXPECT_FLOAT_EQ(found[0].top, 20);
    EXPECT_FLOAT_EQ(found[0].right, 220);
    EXPECT_FLOAT_EQ(found[0].bottom, 120);
    EXPECT_EQ(found[0].label, 3U);
    EXPECT_FLOAT_EQ(found[1].left, 0);
    EXPECT_FLOAT_EQ(found[1].right, 1280);
    EXPECT_FLOAT_EQ(found[1].bottom, 640);
}

TEST(Detections, EqualScoresKeepTheOrderOfTheOutput) {
    std::vector<float> rows;
    for (int i = 0; i < 20; ++i) {
        rows.insert(rows.end(), {static_cast<float>(i), 0, static_cast<float>(i) + 5, 5, 0.5F, 0});
    }
    const auto found = read_detections(rows, shape_of({1, 20, 6}, OutputLayout::kFinal), {}, 640,
                                       640, {.most = 7});
    ASSERT_EQ(found.size(), 7U);
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_FLOAT_EQ(found[i].left, static_cast<float>(i));
}

TEST(Detections, NumbersThatAreNoneAreNoBox) {
    const float nan = std::nanf("");
    const std::vector<float> rows{nan, 0,  10, 10, 0.9F, 0,  0, 0, INFINITY, 10, 0.9F, 0,
                                  0,   0,  10, 10, nan,  0,  0, 0, 10,       10, 0.9F, nan,
                                  10,  10, 5,  5,  0.9F, 0,  0, 0, 10,       10, 2.0F, 0,
                                  0,   0,  10, 10, 0.9F, -1, 1, 1, 9,        9,  0.9F, 4};
    const auto found =
        read_detections(rows, shape_of({1, 8, 6}, OutputLayout::kFinal), {}, 640, 640, {});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].label, 4U);
}

TEST(Detections, AModelThatSeesThingsEverywhereIsCutToTheBest) {
    std::vector<Written> boxes;
    for (int i = 0; i < 2000; ++i) {
        boxes.push_back({static_cast<float>(i % 50) * 12 + 6, static_cast<float>(i / 50) * 12 + 6,
                         10, 10, 0.3F + static_cast<float>(i) / 10000, 0});
    }
    const auto found = read_detections(as_channels(boxes), shape_of({1, 6, 2000}), {}, 640, 640,
                                       {.most = 300, .most_candidates = 1000});
    ASSERT_EQ(found.size(), 300U);
    EXPECT_FLOAT_EQ(found[0].score, 0.3F + 1999.0F / 10000);
    EXPECT_GT(found[299].score, 0.46F);
}

}  // namespace
}  // namespace aliquot::vision
