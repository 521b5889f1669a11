// SPDX-License-Identifier: Apache-2.0
#include "scheduling/disruption_budget.h"

#include <gtest/gtest.h>

namespace aliquot::scheduling {
namespace {

GpuPod labelled(const std::string& name, const std::string& app) {
    return {.uid = name, .name_space = "team", .name = name, .labels = {{"app", app}}};
}

DisruptionBudget read(const std::string& spec, const std::string& status) {
    const auto made =
        read_disruption_budget(R"({"metadata":{"name":"b","namespace":"team"},"spec":)" + spec +
                               R"(,"status":)" + status + "}");
    EXPECT_TRUE(made);
    return made ? *made : DisruptionBudget{};
}

TEST(DisruptionBudget, CountsThePodsThatGoTogether) {
    const auto budget =
        read(R"({"selector":{"matchLabels":{"app":"a"}}})", R"({"disruptionsAllowed":1})");
    const std::vector<GpuPod> both = {labelled("x", "a"), labelled("y", "b"), labelled("z", "a")};
    const GpuPod* const beyond = first_beyond({budget}, both);
    ASSERT_NE(beyond, nullptr) << "each alone may go, both may not";
    EXPECT_EQ(beyond->name, "z");
    EXPECT_EQ(first_beyond({budget}, {both[0], both[1]}), nullptr);
    EXPECT_EQ(first_beyond({}, both), nullptr);
}

TEST(DisruptionBudget, OfASpecThatNobodyHasCountedYetLetsNobodyGo) {
    const auto of_generation = [](const char* observed) {
        return read_disruption_budget(
                   R"({"metadata":{"name":"b","namespace":"team","generation":2},"spec":{"selector":{}},
                       "status":{"disruptionsAllowed":3,"observedGeneration":)" +
                   std::string(observed) + "}}")
            ->allowed;
    };
    EXPECT_EQ(of_generation("1"), 0U);
    EXPECT_EQ(of_generation("2"), 3U);
}

TEST(DisruptionBudget, OfAnotherNamespaceOrWithoutSelectorIsAboutNoPod) {
    const std::string none = R"({"disruptionsAllowed":0})";
    auto budget = read(R"({"selector":{}})", none);
    EXPECT_NE(first_beyond({budget}, {labelled("x", "a")}), nullptr) << "{} selects every pod";
    budget.name_space = "other";
    EXPECT_EQ(first_beyond({budget}, {labelled("x", "a")}), nullptr);
    EXPECT_EQ(first_beyond({read("{}", none)}, {labelled("x", "a")}), nullptr);
}

TEST(DisruptionBudget, ThatNobodyHasCountedYetLetsNobodyGo) {
    for (const char* const status : {"{}", "null", R"({"disruptionsAllowed":-1})"}) {
        const auto budget = read(R"({"selector":{"matchLabels":{"app":"a"}}})", status);
        EXPECT_NE(first_beyond({budget}, {labelled("x", "a")}), nullptr) << status;
    }
    EXPECT_FALSE(read_disruption_budget("{"));
}

}  // namespace
}  // namespace aliquot::scheduling
