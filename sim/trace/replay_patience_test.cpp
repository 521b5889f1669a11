// SPDX-License-Identifier: Apache-2.0
// Replays in which tasks wait for a better place.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/trace/draw.h"
#include "sim/trace/experiment.h"
#include "sim/trace/explanation.h"
#include "sim/trace/outcome_text.h"
#include "sim/trace/scenario_fixture.h"

namespace aliquot::sim::trace {
namespace {

/// Ten GPUs. A `wide` of 810 milli leaves 190 that nothing can use.
Scenario ten_gpus(std::string_view order) {
    std::string nodes = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (char name = 'a'; name < 'k'; ++name)
        nodes += std::string(1, name) + ",64000,100000,1,T4\n";
    auto read =
        scenario_of(nodes,
                    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                    "whole,1000,10,1,1000,1,\nwide,1000,10,1,810,2,60\nbrief,1000,10,1,1000,1,40\n"
                    "last,1000,10,1,1000,50,\n",
                    order);
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
}

std::string repeated(std::string_view line, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += line;
    return text;
}

Outcome run(const Scenario& scenario, const ReplayOptions& replay, std::string* log = nullptr) {
    std::ostringstream lines;
    ExperimentOptions options;
    options.replay = replay;
    options.log = &lines;
    auto outcome = run_experiment(scenario, options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (log != nullptr) *log = lines.str();
    return *std::move(outcome);
}

TEST(ReplayPatience, AWholeGpuGoesToATaskThatUsesAllOfIt) {
    const Scenario input = ten_gpus(repeated("P,0\n", 9) + "P,1\nP,0\n");
    std::string log;
    const Outcome at_once = run(input, {}, &log);
    EXPECT_EQ(at_once.free_milli, 190);
    EXPECT_FALSE(at_once.waited);
    EXPECT_NE(log.find("\ndrop,11,0,whole,"), std::string::npos) << log;
    const Outcome patient = run(input, {.patience = 5}, &log);
    EXPECT_EQ(patient.free_milli, 0);
    EXPECT_EQ(patient.placed, 10);
    EXPECT_EQ(patient.waited, 1);
    EXPECT_EQ(patient.placed_late, 0);
    EXPECT_NE(log.find("\nwait,10,1,wide,,,,\nplace,11,0,whole,"), std::string::npos) << log;
}

TEST(ReplayPatience, HasAnEnd) {
    const Scenario input = ten_gpus(repeated("P,0\n", 9) + "P,1\nP,1\nP,0\n");
    std::string log;
    const Outcome outcome = run(input, {.patience = 2}, &log);
    // The third task after it finds the place taken: it is no longer kept.
    EXPECT_EQ(outcome.free_milli, 190);
    EXPECT_EQ(outcome.waited, 2);
    EXPECT_EQ(outcome.placed_late, 1);
    EXPECT_NE(log.find("\nplace,12,1,wide,10,"), std::string::npos) << log;
    EXPECT_NE(log.find("\ndrop,12,0,whole,"), std::string::npos) << log;
}

TEST(ReplayPatience, NobodyWaitsForNothingInAnEmptyCluster) {
    const Scenario input = ten_gpus(repeated("P,1\n", 3) + "P,3\n");
    const Outcome outcome = run(input, {.patience = 100});
    EXPECT_EQ(outcome.waited, 0);
    EXPECT_EQ(outcome.placed, 4);
}

TEST(ReplayPatience, EndsWhenSomethingLeft) {
    // At 50 s eight brief ones are gone: the cluster is no longer nearly full, so `wide` need not wait.
    Scenario input = ten_gpus("P,0\n" + repeated("P,2\n", 8) + "P,1\nP,3\n");
    sort_by_creation(input.order, input.tasks);
    std::string log;
    const Outcome outcome = run(input, {.departures = true, .patience = 1000}, &log);
    EXPECT_EQ(outcome.waited, 1);
    EXPECT_EQ(outcome.placed_late, 1);
    EXPECT_EQ(outcome.departed, 8);
    EXPECT_NE(log.find("\nplace,11,1,wide,10,"), std::string::npos) << log;
}

TEST(ReplayPatience, WhoseTimeIsOverWhileItWaitsIsNotPlaced) {
    Scenario input = ten_gpus(repeated("P,0\n", 9) + "P,1\nP,3\n");
    input.tasks.tasks[3].creation = 70;  // `wide` would have ended at 60
    const Outcome outcome = run(input, {.departures = true, .patience = 1});
    EXPECT_EQ(outcome.waited, 1);
    EXPECT_EQ(outcome.placed_late, 0);
    EXPECT_EQ(outcome.placed, 10);
}

TEST(ReplayPatience, TheOutcomeTellsWhoWaited) {
    const Scenario input = ten_gpus(repeated("P,0\n", 9) + "P,1\nP,0\n");
    const Outcome outcome = run(input, {.patience = 5});
    const std::string json = outcome_json(outcome);
    EXPECT_NE(json.find(R"("waited":1,"placed_late":0,"seconds")"), std::string::npos) << json;
    std::ostringstream table;
    print_outcomes(table, input, std::span(&outcome, 1));
    EXPECT_NE(table.str().find("waited  placed late\n"), std::string::npos) << table.str();
}

TEST(ReplayPatience, IsExplained) {
    const Scenario input = ten_gpus(repeated("P,0\n", 9) + "P,1\nP,1\nP,0\n");
    const ReplayOptions options{.patience = 2};
    const auto told = explain(input, options, {.row = 1});
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(told->waits, 2U);
    std::ostringstream text;
    print_explanation(text, input, *told);
    EXPECT_NE(text.str().find("waits for up to 2 arrivals"), std::string::npos) << text.str();
    EXPECT_NE(text.str().find("best place now: j (T4), GPU 0"), std::string::npos) << text.str();
    EXPECT_NE(explanation_json(input, *told).find(R"("placed":false,"waits":2,)"),
              std::string::npos);
    // Before the last arrival the patience of the first one ends, and it takes the last GPU.
    const auto last = explain(input, options, {.row = 0, .after = 11});
    ASSERT_TRUE(last) << last.error().message;
    EXPECT_FALSE(last->chosen);
    EXPECT_EQ(last->free_milli, 190);
}

TEST(ReplayPatience, TheSameInputWritesTheSameLog) {
    Scenario input = ten_gpus(repeated("P,2\n", 9) + repeated("P,1\nP,3\n", 4));
    make_movable(input.tasks);
    const ReplayOptions options{.departures = true, .migrate_share = 0.5, .patience = 3};
    std::string first;
    std::string second;
    run(input, options, &first);
    run(input, options, &second);
    EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace aliquot::sim::trace
