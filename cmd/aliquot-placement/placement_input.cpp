// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-placement/placement_input.h"

#include <ostream>
#include <vector>

#include "cli/answer.h"
#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "document/json.h"
#include "sim/trace/draw.h"

namespace aliquot::cli {
namespace {

constexpr std::size_t kMostMib = 256;
constexpr double kInflate = 1.3;
constexpr double kTypicalShare = 0.95;  // of the tasks, as published

template <class T, class Read>
Result<T> read_file(const std::string& file, const Read& read) {
    auto input = read_input(file, kMostMib);
    if (!input) return std::move(input).error();
    return read(input->name, input->text);
}

Result<sim::trace::Order> find_order(const PlacementOptions& words,
                                     const sim::trace::NodeList& nodes,
                                     const sim::trace::TaskList& tasks) {
    const std::size_t node_count = nodes.nodes.size();
    const std::int64_t capacity = nodes.capacity_milli();
    if (!words.order.empty()) {
        auto order = read_file<sim::trace::Order>(
            words.order, [&](const std::string& name, const std::string& text) {
                return sim::trace::read_order(name, text, node_count, tasks.tasks.size());
            });
        if (order && words.inflate)
            sim::trace::cut_arrivals(*order, tasks, capacity, *words.inflate);
        return order;
    }
    // What leaves makes room by itself: a list with times is replayed as it was.
    if (words.departures && !words.inflate)
        return sim::trace::whole_list(tasks, node_count, words.seed);
    return sim::trace::draw_order(tasks, node_count, capacity, words.inflate.value_or(kInflate),
                                  words.seed);
}

Result<std::vector<placement::TaskType>> find_workload(const PlacementOptions& words,
                                                       const sim::trace::TaskList& tasks) {
    if (words.workload.empty()) {
        return placement::typical_types(sim::trace::workload_of(tasks), kTypicalShare);
    }
    auto expected = read_file<sim::trace::TaskList>(
        words.workload, [](const std::string& name, const std::string& text) {
            return sim::trace::read_task_list(name, text, nullptr);
        });
    if (!expected) return std::move(expected).error();
    return placement::typical_types(sim::trace::workload_of(*expected), kTypicalShare);
}

}  // namespace

void add_placement_options(command_line::Command& command, PlacementOptions& words) {
    command
        .add_option("--nodes", words.nodes, "Node list: sn,cpu_milli,memory_mib,gpu,model", "CSV")
        ->required();
    command
        .add_option("--pods", words.pods,
                    "Task list: name,cpu_milli,memory_mib,num_gpu,gpu_milli and more", "CSV")
        ->required();
    command.add_option(
        "--order", words.order,
        "Order file: ranks of the nodes (N,row,rank) and arrivals (P,row); without it, "
        "the order is drawn from --seed",
        "CSV");
    std::vector<std::string> policies;
    for (const std::string_view word : placement::policy_words()) policies.emplace_back(word);
    command
        .add_option("--policy", words.policy, "Placement policy",
                    "POLICY (aliquot, fgd, best-fit, dot-product, packing, clustering, random, "
                    "spread)")
        ->one_of(policies);
    command
        .add_option("--inflate", words.inflate,
                    "Tasks arrive until their GPU demand is this many times the capacity (1.3)",
                    "NUMBER")
        ->range(0.001, 1000.0);
    command.add_option(
        "--seed", words.seed,
        "Random seed of the order when there is no --order, and of the policy random (1)",
        "NUMBER");
    command.add_option(
        "--workload", words.workload,
        "Keep room for the tasks of this list (columns as --pods, and weight), not for "
        "those of --pods",
        "CSV");
    command.add_flag("--learn", words.learn,
                     "Learn what to keep room for from the arrivals, as a cluster must");
    command.add_flag("--departures", words.departures,
                     "Tasks come at creation_time and leave at deletion_time");
    command
        .add_option("--migrate", words.migrate,
                    "Allow moving running tasks: at most this share of the arrivals, each once",
                    "SHARE")
        ->range(0.0, 1.0);
    command
        .add_option(
            "--patience", words.patience,
            "When the cluster is nearly full, a share of a GPU waits for this many arrivals before "
            "it takes a place that leaves an unusable rest (0; policy aliquot)",
            "ARRIVALS")
        ->range(std::size_t{0}, std::size_t{1'000'000});
}

sim::trace::ReplayOptions replay_options(const PlacementOptions& words) {
    sim::trace::ReplayOptions options;
    options.policy = placement::parse_policy(words.policy).value_or(placement::Policy::kAliquot);
    options.seed = words.seed;
    options.departures = words.departures;
    options.learn = words.learn;
    options.migrate_share = words.migrate;
    options.patience = words.patience;
    return options;
}

Result<sim::trace::Scenario> read_scenario(const PlacementOptions& words) {
    sim::trace::Scenario scenario;
    auto nodes = read_file<sim::trace::NodeList>(
        words.nodes, [](const std::string& name, const std::string& text) {
            return sim::trace::read_node_list(name, text);
        });
    if (!nodes) return std::move(nodes).error();
    if (nodes->capacity_milli() == 0) {
        return Error{
            ErrorCode::kInvalidInput,
            words.nodes + ": no node has a GPU; at least one with gpu above 0 was expected"};
    }
    scenario.nodes = *std::move(nodes);
    auto tasks = read_file<sim::trace::TaskList>(
        words.pods, [&](const std::string& name, const std::string& text) {
            return sim::trace::read_task_list(name, text, &scenario.nodes);
        });
    if (!tasks) return std::move(tasks).error();
    if (words.departures && !tasks->has_times) {
        return Error{ErrorCode::kInvalidInput,
                     words.pods +
                         ":1:1: no columns creation_time and deletion_time, which "
                         "--departures needs"};
    }
    scenario.tasks = *std::move(tasks);
    if (scenario.tasks.asks_gpu_memory) sim::trace::fill_gpu_memory(scenario.nodes);
    if (words.migrate > 0) sim::trace::make_movable(scenario.tasks);
    auto order = find_order(words, scenario.nodes, scenario.tasks);
    if (!order) return std::move(order).error();
    scenario.order = *std::move(order);
    if (words.departures) sim::trace::sort_by_creation(scenario.order, scenario.tasks);
    auto workload = find_workload(words, scenario.tasks);
    if (!workload) return std::move(workload).error();
    scenario.workload = *std::move(workload);
    return scenario;
}

void print_simulated(Context& context, std::string_view kind, const std::string& json,
                     const std::string& format) {
    const auto value = document::parse_json(json);
    if (!value) return fail(context, kCouldNotRun, value.error().message);
    print_answer(context.out, kind, with_camel_case(*value), format);
}

}  // namespace aliquot::cli
