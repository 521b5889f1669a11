// SPDX-License-Identifier: Apache-2.0
#include "page/history.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "top/test_world.h"

namespace aliquot::page {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

const Moment kBegin{std::chrono::hours(1'000)};

TEST(PageHistory, KeepsUseAndMemoryOfEachGpuAndOfAll) {
    History history;
    EXPECT_TRUE(Json::parse(history.json(""))["busy"].empty());
    history.note(top::one_node(), kBegin);
    history.note(top::one_node(), kBegin + 5s);  // too soon
    history.note(top::one_node(), kBegin + 15s);
    const Json all = Json::parse(history.json(""));
    EXPECT_EQ(all["step"], 15);
    EXPECT_EQ(all["busy"].size(), 2U);
    EXPECT_EQ(all["memory"].size(), 2U);
    const auto end =
        std::chrono::duration_cast<std::chrono::milliseconds>((kBegin + 15s).time_since_epoch());
    EXPECT_EQ(all["end"], end.count());
    EXPECT_EQ(Json::parse(history.json("gpu-node-1/0"))["busy"].size(), 2U);
    EXPECT_TRUE(Json::parse(history.json("gpu-node-1/7"))["busy"].empty());
}

TEST(PageHistory, AGapIsAGap) {
    History history;
    history.note(top::one_node(), kBegin);
    history.note(top::one_node(), kBegin + 60s);
    const Json busy = Json::parse(history.json("gpu-node-1/0"))["busy"];
    ASSERT_EQ(busy.size(), 5U);
    EXPECT_FALSE(busy[0].is_null());
    EXPECT_TRUE(busy[2].is_null());
    EXPECT_FALSE(busy[4].is_null());
}

TEST(PageHistory, HasALimitAndForgetsWhatIsGone) {
    History history;
    Moment now = kBegin;
    history.note(top::three_nodes(), now);
    EXPECT_FALSE(Json::parse(history.json("gpu-node-2/0"))["busy"].empty());
    for (std::size_t i = 0; i < History::kMostPoints + 20; ++i) {
        history.note(top::one_node(), now += History::kStep);
    }
    EXPECT_EQ(Json::parse(history.json("gpu-node-1/0"))["busy"].size(), History::kMostPoints);
    EXPECT_TRUE(Json::parse(history.json("gpu-node-2/0"))["busy"].empty());
}

TEST(PageHistory, GoesOnWhenTheClockIsSetBack) {
    History history;
    history.note(top::one_node(), kBegin);
    history.note(top::one_node(), kBegin - 100h);
    history.note(top::one_node(), kBegin - 100h + 15s);
    EXPECT_EQ(Json::parse(history.json(""))["busy"].size(), 2U);
}

}  // namespace
}  // namespace aliquot::page
