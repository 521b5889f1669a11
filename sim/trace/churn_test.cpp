// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/trace/churn_text.h"
#include "sim/trace/draw.h"
#include "sim/trace/plot.h"

namespace aliquot::sim::trace {
namespace {

using placement::Policy;
using testing::HasSubstr;

class ClusterText {
public:
    void add_nodes(int count, int gpus, int cpu_of_gpu) {
        for (int i = 0; i < count; ++i)
            nodes_ += "n" + std::to_string(node_++) + "," + std::to_string(gpus * cpu_of_gpu) +
                      "," + std::to_string(gpus * 65536) + "," + std::to_string(gpus) + ",T4\n";
    }
    void add_tasks(int count, int cpu, int gpus, int milli, int seconds) {
        for (int i = 0; i < count; ++i)
            tasks_ += "t" + std::to_string(task_++) + "," + std::to_string(cpu) + ",1024," +
                      std::to_string(gpus) + "," + std::to_string(milli) + ",0," +
                      std::to_string(seconds) + "\n";
    }
    [[nodiscard]] Scenario scenario() const {
        Scenario scenario;
        scenario.nodes = *read_node_list("nodes", nodes_);
        scenario.tasks = *read_task_list("tasks", tasks_, &scenario.nodes);
        scenario.workload = placement::typical_types(workload_of(scenario.tasks));
        return scenario;
    }

private:
    int node_ = 0;
    int task_ = 0;
    std::string nodes_ = "sn,cpu_milli,memory_mib,gpu,model\n";
    std::string tasks_ =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n";
};

/// Shares, single GPUs, some of 2 and 4.
void add_small_tasks(ClusterText& text) {
    text.add_tasks(100, 4000, 1, 1000, 600);
    text.add_tasks(60, 2000, 1, 500, 300);
    text.add_tasks(60, 1000, 1, 250, 900);
    text.add_tasks(6, 16000, 2, 1000, 1200);
    text.add_tasks(3, 32000, 4, 1000, 1200);
}

/// 24 nodes of 8 GPUs, 16 of 4, 20 of 2; few tasks of 8 GPUs.
Scenario small_cluster() {
    ClusterText text;
    text.add_nodes(24, 8, 12'000);
    text.add_nodes(16, 4, 12'000);
    text.add_nodes(20, 2, 12'000);
    add_small_tasks(text);
    text.add_tasks(2, 64000, 8, 1000, 2400);
    text.add_tasks(20, 2000, 0, 0, 300);
    return text.scenario();
}

/// Four of the nodes of 8 GPUs have more CPU, and only there the largest tasks find it; many tasks need CPU alone.
Scenario cluster_of_two_kinds() {
    ClusterText text;
    text.add_nodes(4, 8, 16'000);
    text.add_nodes(20, 8, 12'000);
    text.add_nodes(20, 2, 12'000);
    add_small_tasks(text);
    text.add_tasks(2, 64000, 8, 1000, 600);
    text.add_tasks(1, 120000, 8, 1000, 600);
    text.add_tasks(60, 6000, 0, 0, 600);
    return text.scenario();
}

ChurnOutcome run(const Scenario& scenario, Policy policy, const std::string& words,
                 bool wait = false) {
    auto options = *parse_churn(words);
    options.engine.policy = policy;
    options.wait = wait;
    Scenario with_ranks = scenario;
    with_ranks.order = whole_list(scenario.tasks, scenario.nodes.nodes.size(), options.seed);
    auto outcome = run_churn(with_ranks, options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *std::move(outcome);
}

const SizeOutcome& of(const ChurnOutcome& outcome, TaskSize size) {
    return outcome.sizes.at(static_cast<std::size_t>(size));
}

TEST(Churn, OffersTheLoadThatIsAskedForAndRefusesNothingWhileItIsLow) {
    const auto scenario = small_cluster();
    for (const char* const lifetime : {"exp", "trace"}) {
        const auto outcome = run(scenario, Policy::kAliquot,
                                 "load=0.3,tasks=20000,seed=3,lifetime=" + std::string(lifetime));
        EXPECT_NEAR(outcome.offered, 0.3, 0.02) << lifetime;
        EXPECT_DOUBLE_EQ(outcome.carried, outcome.offered) << lifetime;
        for (const SizeOutcome& size : outcome.sizes) EXPECT_EQ(size.refused, 0) << lifetime;
        EXPECT_EQ(outcome.curve.size(), 500U);
    }
}

TEST(Churn, IsTheSameForTheSameSeedAndAnotherForAnother) {
    const auto scenario = small_cluster();
    const std::string words = "load=0.9,tasks=5000,seed=";
    const auto first = run(scenario, Policy::kAliquot, words + "1");
    EXPECT_EQ(run(scenario, Policy::kAliquot, words + "1").carried, first.carried);
    EXPECT_NE(run(scenario, Policy::kAliquot, words + "2").carried, first.carried);
}

// The default kept no node free for tasks of eight GPUs: with departures it refused nearly all.
TEST(Churn, LargeTasksFindAPlaceAsWithTheBestOfThePublishedPolicies) {
    const auto scenario = small_cluster();
    for (const char* const words : {"load=0.75,tasks=20000,seed=1", "load=0.85,tasks=20000,seed=2",
                                    "load=0.85,tasks=20000,seed=3,lifetime=trace"}) {
        const auto ours = run(scenario, Policy::kAliquot, words);
        const auto fgd = run(scenario, Policy::kFgd, words);
        const auto best_fit = run(scenario, Policy::kBestFit, words);
        EXPECT_GE(ours.carried, std::max(fgd.carried, best_fit.carried) - 0.003) << words;
        const auto refused = [](const ChurnOutcome& outcome) {
            const auto& eight = of(outcome, TaskSize::kEight);
            return static_cast<double>(eight.refused) / static_cast<double>(eight.tasks);
        };
        EXPECT_LE(refused(ours), std::min(refused(fgd), refused(best_fit)) + 0.02) << words;
    }
}

// Of the seldom tasks one kind stood for all of 8 GPUs: the nodes that only the others fit on were kept for nobody.
TEST(Churn, LargeTasksWithMuchCpuFindTheNodesThatHaveIt) {
    const auto scenario = cluster_of_two_kinds();
    for (const char* const words : {"load=0.7,tasks=20000,seed=1", "load=0.7,tasks=20000,seed=2"}) {
        const auto ours = run(scenario, Policy::kAliquot, words);
        const auto best_fit = run(scenario, Policy::kBestFit, words);
        EXPECT_GE(ours.carried, best_fit.carried - 0.003) << words;
        const auto& eight = of(ours, TaskSize::kEight);
        const auto& theirs = of(best_fit, TaskSize::kEight);
        EXPECT_LE(eight.refused, theirs.refused + eight.tasks / 50) << words;
    }
}

TEST(Churn, WhatWaitsIsPlacedInTheEnd) {
    const auto scenario = small_cluster();
    const auto outcome = run(scenario, Policy::kAliquot, "load=0.95,tasks=10000,seed=4", true);
    EXPECT_GT(outcome.carried, 0.93);
    const auto& eight = of(outcome, TaskSize::kEight);
    EXPECT_EQ(eight.refused, 0);
    EXPECT_LE(eight.p50_wait, eight.p99_wait);
    EXPECT_EQ(of(outcome, TaskSize::kCpu).p50_wait, 0);
}

TEST(Churn, AWordThatIsWrongIsNamed) {
    EXPECT_EQ(parse_churn("load=0.5,tasks=7,seed=9,lifetime=trace")->tasks, 7U);
    for (const char* const words : {"load=0", "load=x", "load=1e3", "load", "tasks=0", "tasks=-1",
                                    "seed=x", "lifetime=long", "speed=1", "load=0.8,,seed=1", ""}) {
        const auto parsed = parse_churn(words);
        ASSERT_FALSE(parsed) << words;
        EXPECT_THAT(parsed.error().message, HasSubstr("was expected")) << words;
    }
}

TEST(Churn, ATraceWithoutTimesHasNoLifetimes) {
    auto scenario = small_cluster();
    scenario.tasks.has_times = false;
    auto options = *parse_churn("lifetime=trace,tasks=10");
    const auto outcome = run_churn(scenario, options);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, HasSubstr("creation_time"));
    for (Task& task : scenario.tasks.tasks) task.request = {.cpu_milli = 1000};
    options.lifetime = Lifetime::kExponential;
    EXPECT_THAT(run_churn(scenario, options).error().message, HasSubstr("asks for a GPU"));
}

TEST(Churn, IsToldAsATableAsJsonAndAsCurves) {
    const auto scenario = small_cluster();
    const auto options = *parse_churn("load=0.8,tasks=2000,seed=1");
    const std::vector<ChurnOutcome> outcomes{
        run(scenario, Policy::kAliquot, "load=0.8,tasks=2000"),
        run(scenario, Policy::kBestFit, "load=0.8,tasks=2000")};
    std::ostringstream text;
    print_churn(text, options, outcomes);
    EXPECT_THAT(text.str(), HasSubstr("2000 tasks that ask for 80.0 % of the GPUs"));
    EXPECT_THAT(text.str(), HasSubstr("refused 8+"));
    EXPECT_THAT(churn_json(options, outcomes),
                HasSubstr(R"("policy":"best-fit","offered_percent":)"));
    std::ostringstream csv;
    print_curve(csv, outcomes);
    EXPECT_THAT(csv.str(), HasSubstr("policy,time,allocated_percent,free_nodes_percent\naliquot,"));
    std::ostringstream svg;
    draw_plot(svg, outcomes);
    EXPECT_THAT(svg.str(), HasSubstr("<title>GPU allocation and free nodes over time</title>"));
    EXPECT_THAT(svg.str(), HasSubstr("time, in mean lifetimes of a task"));
}

}  // namespace
}  // namespace aliquot::sim::trace
