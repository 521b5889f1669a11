// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "sim/trace/draw.h"
#include "sim/trace/outcome_text.h"
#include "sim/trace/scenario_fixture.h"
#include "sim/trace/unusable.h"

namespace aliquot::sim::trace {
namespace {

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,8000,1000,2,T4\n"
    "b,8000,1000,2,T4\n";
constexpr std::string_view kTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
    "whole,1000,10,1,1000,,10,20\n"
    "part,1000,10,1,600,,11,20\n"
    "cpu,1000,10,0,0,,12,13\n"
    "late,1000,10,1,1000,T4,20,30\n";

Scenario scenario(std::string_view order) {
    auto read = scenario_of(kNodes, kTasks, order);
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
}

Outcome run(const Scenario& scenario, ExperimentOptions options = {}) {
    options.replay.policy = placement::Policy::kBestFit;
    auto outcome = run_experiment(scenario, options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *std::move(outcome);
}

// Four GPUs. Arrived: 600, 1200, 1800, 2800, 3800 milli = 15, 30, 45, 70, 95 %. Two parts of 600 do
// not fit on one GPU, so the fifth arrival finds one free GPU and four tasks before it.
TEST(Experiment, KeepsTheBooksOfASmallRunThatCanBeCheckedByHand) {
    ExperimentOptions options;
    options.at = {15, 30, 45, 70, 95, 100};
    options.whole_curve = true;
    const Outcome outcome = run(scenario("P,1\nP,1\nP,1\nP,0\nP,0\n"), options);
    EXPECT_EQ(outcome.arrivals, 5U);
    EXPECT_EQ(outcome.placed, 4);
    EXPECT_EQ(outcome.capacity_milli, 4000);
    EXPECT_EQ(outcome.arrived_milli, 3800);
    EXPECT_EQ(outcome.free_milli, 1200);
    const std::vector<double> allocated{15, 30, 45, 70, 70};
    for (std::size_t i = 0; i < allocated.size(); ++i) {
        ASSERT_TRUE(outcome.at[i].second) << i;
        EXPECT_EQ(outcome.at[i].second->allocation, allocated[i]) << i;
    }
    EXPECT_FALSE(outcome.at[5].second);
    // Three leftovers of 400 that nothing can use.
    EXPECT_EQ(outcome.at[4].second->fragmentation, 100);
    EXPECT_EQ(outcome.curve.size(), 5U);
}

TEST(Experiment, PrintsTheContract) {
    ExperimentOptions options;
    options.at = {70, 130};
    Outcome outcome = run(scenario("P,1\nP,1\nP,1\nP,0\nP,0\n"), options);
    outcome.seconds = 0.5;
    EXPECT_EQ(outcome_json(outcome),
              "{\"policy\":\"best-fit\",\"arrivals\":5,\"placed\":4,"
              "\"allocation_percent\":{\"70\":70,\"130\":null},"
              "\"fragmentation_percent\":{\"70\":100,\"130\":null},\"seconds\":0.5}");
}

TEST(Experiment, TasksLeaveAtTheirTimeAndMakeRoom) {
    Scenario with_times = scenario("P,0\nP,1\nP,2\nP,3\n");
    ExperimentOptions options;
    options.replay.departures = true;
    options.at = {25, 40};
    std::ostringstream log;
    options.log = &log;
    const Outcome outcome = run(with_times, options);
    EXPECT_EQ(outcome.placed, 4);
    EXPECT_EQ(outcome.departed, 3);
    EXPECT_EQ(outcome.peak_milli, 1600);
    EXPECT_EQ(outcome.free_milli, 3000);
    EXPECT_EQ(outcome.at[0].second->allocation, 25);  // the first and the last arrival
    EXPECT_TRUE(log.str().contains("leave,4,0,whole,1,a,"));
    EXPECT_TRUE(log.str().contains("place,4,3,late,4,"));
}

TEST(Experiment, TheSameInputWritesTheSameLog) {
    std::string text = "N,0,1\nN,1,0\n";
    for (int i = 0; i < 40; ++i) text += "P," + std::to_string(i % 4) + '\n';
    const Scenario input = scenario(text);
    const auto log = [&](placement::Policy policy) {
        std::ostringstream out;
        ExperimentOptions options;
        options.replay.policy = policy;
        options.log = &out;
        EXPECT_TRUE(run_experiment(input, options));
        return out.str();
    };
    for (const auto word : placement::policy_words()) {
        const auto policy = *placement::parse_policy(word);
        EXPECT_EQ(log(policy), log(policy)) << word;
    }
    EXPECT_TRUE(log(placement::Policy::kBestFit)
                    .starts_with("event,arrival,row,task,placement,node,devices,mig_start\nplace,1,"
                                 "0,whole,1,b,0,\n"));
}

TEST(Experiment, AGangIsPlacedAsAWholeOrNotAtAll) {
    auto read = scenario_of(
        kNodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,count\nthree,0,0,1,1000,3\n",
        "P,0\nP,0\n");
    ASSERT_TRUE(read);
    const Outcome outcome = run(*read);
    EXPECT_EQ(outcome.placed, 1);
    EXPECT_EQ(outcome.arrived_milli, 6000);
    EXPECT_EQ(outcome.free_milli, 1000);
}

TEST(Experiment, LearnsTheWorkloadFromTheArrivals) {
    const Scenario input = scenario("P,1\nP,1\nP,0\nP,0\n");
    ExperimentOptions options;
    options.replay.learn = true;
    options.whole_curve = true;
    EXPECT_EQ(run(input, options).placed, 4);
}

/// Two GPUs with 320 and 470 milli each, and another 320: fits once two tasks have changed places.
Scenario tight_scenario(std::string_view order) {
    auto read =
        scenario_of("sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,1,T4\nb,8000,1000,1,T4\n",
                    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                    "small,1000,10,1,320,1,50\nlarge,1000,10,1,470,1,50\nnext,1000,10,1,320,2,50\n"
                    "whole,1000,10,1,1000,3,90\n",
                    order);
    EXPECT_TRUE(read) << read.error().message;
    make_movable(read->tasks);
    return *std::move(read);
}

TEST(Experiment, MovesMakeRoomForATaskThatWaits) {
    const Scenario input = tight_scenario("P,1\nP,0\nP,1\nP,0\nP,2\n");
    std::ostringstream log;
    ExperimentOptions options;
    options.replay.migrate_share = 0.4;  // two moves
    options.log = &log;
    options.at = {95};
    const Outcome outcome = run(input, options);
    EXPECT_EQ(outcome.migrations, 2U);
    EXPECT_EQ(outcome.placed, 5);
    EXPECT_EQ(outcome.placed_late, 1);
    EXPECT_EQ(outcome.gained_milli, 320);
    EXPECT_EQ(outcome.free_milli, 100);
    const std::string text = log.str();
    const std::size_t drop = text.find("\ndrop,5,2,next,");
    const std::size_t move = text.find("\nmove,5,");
    const std::size_t place = text.find("\nplace,5,2,next,5,");
    ASSERT_NE(drop, std::string::npos) << text;
    EXPECT_LT(drop, move);
    EXPECT_LT(move, place);
    EXPECT_NE(place, std::string::npos) << text;
}

// Nothing leaves, so there is never more room than before: what was refused once fits no more.
TEST(Experiment, WaitingAloneWinsNothing) {
    const Scenario input = tight_scenario("P,1\nP,0\nP,1\nP,0\nP,2\n");
    ExperimentOptions options;
    options.replay.migrate_share = 0.1;  // of five arrivals: no move
    const Outcome outcome = run(input, options);
    EXPECT_EQ(outcome.migrations, 0U);
    EXPECT_EQ(outcome.placed, 4);
    EXPECT_EQ(outcome.placed_late, 0);
}

TEST(Experiment, ATaskThatWaitedLeavesAtItsTime) {
    Scenario input = tight_scenario("P,1\nP,0\nP,1\nP,0\nP,2\nP,3\n");
    input.tasks.tasks[3].creation = 60;
    ExperimentOptions options;
    options.replay.migrate_share = 0.4;
    options.replay.departures = true;
    sort_by_creation(input.order, input.tasks);
    const Outcome outcome = run(input, options);
    EXPECT_EQ(outcome.placed_late, 1);
    EXPECT_EQ(outcome.departed, 5);
    EXPECT_EQ(outcome.free_milli, 1000);
}

TEST(WorkloadOf, TellsListsOfModelsApartAsTheyAreWritten) {
    const auto read = scenario_of(
        kNodes,
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,9,T4\nb,1,1,1,9,T4|T4\n",
        "P,0\n");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->workload.size(), 2U);
    EXPECT_EQ(read->tasks.tasks[0].request, read->tasks.tasks[1].request);
}

TEST(FragmentationMeter, AgreesWithTheEngineOnEveryStepOfARandomReplay) {
    auto read = scenario_of(
        "sn,cpu_milli,memory_mib,gpu,model,gpu_memory_mib,mig\n"
        "a,16000,90000,4,T4,16000,0\nb,4000,90000,2,V100,32000,0\nc,64000,90000,8,A100,40960,1\n"
        "d,9000,9000,0,,0,0\n",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,gpu_memory_mib,mig_profile\n"
        "s,1000,10,1,330,,0,\nm,500,10,1,200,V100|T4,9000,\nw,2000,10,2,1000,,0,\n"
        "i,500,10,1,0,,0,1g.5gb\nj,900,10,1,0,A100,0,3g.20gb\nc,3000,10,0,0,,0,\n",
        "P,0\n");
    ASSERT_TRUE(read) << read.error().message;
    read->order = *draw_order(read->tasks, 4, read->nodes.capacity_milli(), 1.3, 5);
    for (const auto policy : {placement::Policy::kFgd, placement::Policy::kAliquot}) {
        auto replay = Replay::start(*read, {.policy = policy});
        ASSERT_TRUE(replay) << replay.error().message;
        FragmentationMeter meter(replay->engine(), read->nodes.geometries);
        while (!replay->done()) {
            const auto step = replay->step();
            ASSERT_TRUE(step) << step.error().message;
            for (const auto& place : step->places) meter.touched(place.node);
            ASSERT_NEAR(meter.milli(), replay->engine().fragmented_milli(), 1e-6);
        }
        EXPECT_GT(replay->placed(), 0);
    }
}

TEST(UnusableMilli, IsAllForWhatDoesNotFitAndTheSmallRestsForWhatDoes) {
    const placement::NodeSpec spec{.name = "n", .devices = 3, .model = "T4"};
    placement::NodeState state{.cpu_milli = 4000};
    state.devices = {{.milli = 1000}, {.milli = 400}, {.milli = 600}};
    placement::Request type{.cpu_milli = 4000, .gpus = 1, .milli = 500};
    EXPECT_EQ(unusable_milli(spec, state, type, {}), 400);
    type.models = {"A10"};
    EXPECT_EQ(unusable_milli(spec, state, type, {}), 2000);
    type.models = {"A10", "T4"};
    EXPECT_EQ(unusable_milli(spec, state, type, {}), 400);
    type.cpu_milli = 4001;
    EXPECT_EQ(unusable_milli(spec, state, type, {}), 2000);
    EXPECT_EQ(unusable_milli(spec, state, {.gpus = 2, .milli = 1000}, {}), 2000);
    EXPECT_EQ(unusable_milli(spec, state, {.gpus = 0}, {}), 2000);
}

}  // namespace
}  // namespace aliquot::sim::trace
