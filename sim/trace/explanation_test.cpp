// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/explanation.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/trace/draw.h"
#include "sim/trace/scenario_fixture.h"

namespace aliquot::sim::trace {
namespace {

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,8000,1000,2,T4\n"
    "b,8000,1000,1,A10\n"
    "c,64000,1000,0,\n";
constexpr std::string_view kTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "big,1000,10,1,810,\n"
    "small,1000,10,1,190,\n"
    "picky,1000,10,1,1000,A10\n";

Scenario scenario(std::string_view order) {
    auto read = scenario_of(kNodes, kTasks, order);
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
}

TEST(Explain, TellsThePlaceThatTheReplayGives) {
    const Scenario input = scenario("P,0\nP,1\nP,0\nP,2\nP,1\n");
    for (const auto word : placement::policy_words()) {
        const ReplayOptions options{.policy = *placement::parse_policy(word)};
        auto replay = Replay::start(input, options);
        ASSERT_TRUE(replay);
        for (const std::uint32_t row : {0U, 1U}) {
            const auto step = replay->step();
            const auto told = explain(input, options, {.row = row});
            ASSERT_TRUE(step && told);
            ASSERT_FALSE(step->places.empty());
            EXPECT_EQ(told->chosen->place.node, step->places[0].node) << word;
            EXPECT_EQ(told->chosen->place.devices, step->places[0].devices) << word;
            EXPECT_EQ(told->arrival, row + 1) << word;
        }
    }
}

TEST(Explain, SaysWhatAPlaceMakesUnusable) {
    const Scenario input = scenario("P,0\nP,2\n");
    const auto told = explain(input, {.policy = placement::Policy::kFgd}, {.row = 0});
    ASSERT_TRUE(told);
    ASSERT_EQ(told->alternatives.size(), 1U);
    // On node b nothing is left for the task that wants its one A10.
    const Choice& other = told->alternatives[0];
    EXPECT_EQ(input.nodes.nodes[other.place.node].name, "b");
    EXPECT_GT(other.fragmentation_milli, told->chosen->fragmentation_milli);
    std::ostringstream text;
    print_explanation(text, input, *told);
    EXPECT_TRUE(text.str().contains("placed on a (T4), GPU 0")) << text.str();
    EXPECT_TRUE(text.str().contains("makes 0.19 GPU unusable for tasks of 1 GPU of A10, 1 CPU"))
        << text.str();
}

TEST(Explain, SaysWhyNothingFitsAndWhatCameNearest) {
    const Scenario input = scenario("P,2\nP,0\nP,0\nP,0\n");
    const auto told =
        explain(input, {.policy = placement::Policy::kBestFit}, {.row = 0, .after = 3});
    ASSERT_TRUE(told);
    EXPECT_FALSE(told->chosen);
    EXPECT_FALSE(told->arrival);
    EXPECT_EQ(told->refusal.nodes, 3U);
    EXPECT_EQ(told->refusal.model, 1U);
    EXPECT_EQ(told->refusal.gpu, 2U);
    std::ostringstream text;
    print_explanation(text, input, *told);
    EXPECT_TRUE(text.str().contains("refused: no node has room")) << text.str();
    EXPECT_TRUE(text.str().contains("nearest: a: needs 620 more milli on one GPU")) << text.str();
    EXPECT_TRUE(explanation_json(input, *told).contains("\"placed\":false")) << text.str();
}

TEST(Explain, SaysHowManyOfAGangWouldFit) {
    auto input = scenario_of(
        kNodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,count\nfour,0,0,1,1000,4\n", "P,0\n");
    ASSERT_TRUE(input);
    const auto told = explain(*input, {}, {.row = 0});
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(told->fitting, 3U);
    std::ostringstream text;
    print_explanation(text, *input, *told);
    EXPECT_TRUE(text.str().contains("only 3 of 4 find a place")) << text.str();
}

TEST(Explain, RefusesQuestionsWithoutAnAnswer) {
    const Scenario input = scenario("P,0\n");
    EXPECT_TRUE(
        explain(input, {}, {.row = 1}).error().message.contains("not among the 1 arrivals"));
    EXPECT_FALSE(explain(input, {}, {.row = 1, .after = 2}));
    EXPECT_TRUE(explain(input, {}, {.row = 1, .after = 1}));
}

TEST(FindTask, TakesNamesAndRows) {
    const Scenario input = scenario("P,0\n");
    EXPECT_EQ(*find_task(input.tasks, "small"), 1U);
    EXPECT_EQ(*find_task(input.tasks, "2"), 2U);
    EXPECT_TRUE(find_task(input.tasks, "3").error().message.contains("rows 0 to 2"));
    EXPECT_TRUE(find_task(input.tasks, "smal").error().message.contains("did you mean 'small'?"));
}

TEST(RequestText, NamesWhatIsAskedFor) {
    placement::Request request{.cpu_milli = 1500, .memory_mib = 10, .gpus = 1, .milli = 810};
    request.models = {"A10", "T4"};
    EXPECT_EQ(request_text(request), "0.81 GPU of A10 or T4, 1.5 CPU, 10 MiB");
    EXPECT_EQ(request_text({.cpu_milli = 8000, .gpus = 2, .milli = 1000}), "2 GPUs, 8 CPU");
    EXPECT_EQ(request_text({.gpus = 1, .mib = 4096}), "4096 MiB of a GPU, 0 CPU");
    EXPECT_EQ(request_text({.gpus = 1, .mig_profile = "1g.5gb"}), "a MIG instance 1g.5gb, 0 CPU");
    EXPECT_EQ(request_text({}), "no GPU, 0 CPU");
}

}  // namespace
}  // namespace aliquot::sim::trace
