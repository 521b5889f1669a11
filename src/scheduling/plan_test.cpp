// SPDX-License-Identifier: Apache-2.0
#include "scheduling/plan.h"

#include <gtest/gtest.h>

namespace aliquot::scheduling {
namespace {

const Plan kPlan{.generation = 7,
                 .asked = {{"main", "nvidia.com/gpu.shared", 2}},
                 .targets = {{"z-best", {{"nvidia.com/gpu.shared", {{"GPU-1", 1}, {"GPU-2", 1}}}}},
                             {"a-next", {{"nvidia.com/gpu.shared", {{"GPU-9", 2}}}}}}};

TEST(PlanText, IsReadAsItIsWrittenAndKeepsTheOrder) {
    EXPECT_EQ(parse_plan(to_json(kPlan)), kPlan);
}

TEST(PlanText, HasOneForm) {
    EXPECT_EQ(
        to_json(Plan{.generation = 1,
                     .asked = {{"main", "nvidia.com/gpu", 1}},
                     .targets = {{"n1", {{"nvidia.com/gpu", {{"GPU-1", 1}}}}}}}),
        R"({"v":1,"gen":1,"ask":[{"container":"main","resource":"nvidia.com/gpu","count":1}],)"
        R"("nodes":[{"node":"n1","units":{"nvidia.com/gpu":{"GPU-1":1}}}]})");
}

TEST(PlanText, OfAnotherVersionOrFormIsNone) {
    for (const char* const text :
         {"", "{}", "[]", R"({"v":2,"ask":[],"nodes":[]})", R"({"v":1,"ask":[],"nodes":{}})",
          R"({"v":1,"ask":7,"nodes":[]})", R"({"v":1,"ask":[],"nodes":[{"node":"","units":{}}]})",
          R"({"v":1,"ask":[],"nodes":[{"node":"a"}]})", R"({"v":1,"ask":[],"nodes":[7]})"}) {
        EXPECT_FALSE(parse_plan(text)) << text;
    }
    EXPECT_FALSE(parse_plan(std::string(100'000, ' ') + to_json(kPlan)));
}

}  // namespace
}  // namespace aliquot::scheduling
