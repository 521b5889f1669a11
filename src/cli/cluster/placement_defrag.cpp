// SPDX-License-Identifier: Apache-2.0
// aliquot placement defrag: what moving pods would win, and moving them.
#include "cli/cluster/placement_defrag.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/sentence.h"
#include "base/time_text.h"
#include "cli/answer.h"
#include "cli/cluster/move_run.h"
#include "cli/rows.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;
using scheduling::DefragPlan;
using scheduling::PlannedMove;
using std::chrono::seconds;

struct DefragOptions {
    ClusterOptions cluster;
    bool plan = false;
    bool apply = false;
    bool yes = false;
    MoveLimits limits;
    std::string least_run = "10m";
    std::string patience = "5m";
    std::string name_space = "aliquot-system";
    std::string format = "table";
};

/// A plan with what it was made under.
struct Told {
    DefragPlan plan;
    std::size_t moved = 0;  // within the last hour
};

// ---- words ----------------------------------------------------------------------------------------

std::string opens_text(const PlannedMove& move) {
    std::string text = listed(move.opens, [](const std::string& gpu) { return gpu; });
    if (move.opens_node) text += (text.empty() ? "" : ", ") + ("node " + move.from.node);
    return text;
}

void print_defrag(Context& context, const DefragOptions& words, const Told& told) {
    const DefragPlan& plan = told.plan;
    std::vector<Row> totals{{"WHOLLY FREE", "GPUS", "NODES"}};
    totals.push_back({"now", std::to_string(plan.before.gpus), std::to_string(plan.before.nodes)});
    totals.push_back({"after", std::to_string(plan.after.gpus), std::to_string(plan.after.nodes)});
    print_rows(context.out, totals);
    context.out << '\n';
    if (plan.moves.empty()) {
        context.out << (told.moved < words.limits.per_hour
                            ? "No move opens a GPU or a node.\n"
                            : "As many pods were moved as may be within an hour.\n");
    } else {
        std::vector<Row> rows{{"", "POD", "ASKS", "FROM", "TO", "OPENS"}};
        for (const PlannedMove& one : plan.moves) {
            rows.push_back({std::to_string(rows.size()), one.pod.full_name(), asked_text(one.pod),
                            one.from.node + " " + units_text(one.from.units),
                            one.to.node + " " + units_text(one.to.units), opens_text(one)});
        }
        print_rows(context.out, rows);
    }
    if (!plan.staying.empty()) {
        context.out << '\n';
        std::vector<Row> rows{{"PODS NOT MOVED", "SINCE THEY"}};
        for (const auto& [why, pods] : plan.staying) rows.push_back({std::to_string(pods), why});
        print_rows(context.out, rows);
    }
    context.out << '\n'
                << told.moved << " of " << words.limits.per_hour
                << " moves of an hour are made; at most " << words.limits.most_moves
                << " in one run.\n";
}

Json target_json(const scheduling::Target& target) {
    Json units = Json::object();
    for (const auto& [resource, gpus] : target.units) {
        for (const auto& [gpu, count] : gpus) units[resource][gpu] = count;
    }
    return {{"node", target.node}, {"units", std::move(units)}};
}

Json defrag_json(const DefragOptions& words, const Told& told) {
    const auto free = [](const scheduling::WhollyFree& one) {
        return Json{{"gpus", one.gpus}, {"nodes", one.nodes}};
    };
    Json moves = Json::array();
    for (const PlannedMove& one : told.plan.moves) {
        moves.push_back({{"pod", one.pod.full_name()},
                         {"asks", asked_text(one.pod)},
                         {"from", target_json(one.from)},
                         {"to", target_json(one.to)},
                         {"opensGpus", one.opens},
                         {"opensNode", one.opens_node}});
    }
    Json staying = Json::array();
    for (const auto& [why, pods] : told.plan.staying)
        staying.push_back({{"why", why}, {"pods", pods}});
    return {{"before", free(told.plan.before)}, {"after", free(told.plan.after)},
            {"moves", std::move(moves)},        {"staying", std::move(staying)},
            {"movedLastHour", told.moved},      {"movesPerHour", words.limits.per_hour}};
}

Json moved_json(const MoveRun& run, const std::string& stopped) {
    Json done = Json::array();
    for (const DoneMove& one : run.done()) {
        done.push_back({{"pod", one.pod},
                        {"next", one.next},
                        {"at", target_json(one.at)},
                        {"seconds", one.took.count()}});
    }
    return {{"done", std::move(done)}, {"stopped", stopped}};
}

// ---- what is done ---------------------------------------------------------------------------------

/// Empty: it was said why not.
std::optional<Told> told_plan(Context& context, kube_client::Api& api, const DefragOptions& words,
                              MoveLease& lease) {
    Told told;
    const auto moves = lease.moves();
    if (moves) {
        told.moved = moves->size();
    } else if (words.apply) {
        fail(context, moves.failure());
        return std::nullopt;
    } else {
        context.err << "aliquot: moves of the last hour are not known, and count as none: "
                    << moves.failure().message << '\n';
    }
    MoveLimits limits = words.limits;
    const auto left = words.limits.per_hour - std::min<std::size_t>(told.moved, limits.per_hour);
    limits.most_moves = std::min(limits.most_moves, static_cast<unsigned>(left));
    auto picture = read_moves(context, api, words.cluster, limits);
    if (!picture) return std::nullopt;
    if (picture->placement.nodes.empty()) {
        context.err << "aliquot: no agent tells which GPUs it serves; is it installed with "
                       "--placement?\n";
    }
    told.plan = picture->placement.books.plan_defrag(picture->rules);
    return told;
}

/// False: a person does not want it, or nobody can be asked.
bool may_move_pods(Context& context, const DefragOptions& words, const DefragPlan& plan) {
    if (words.yes) return true;
    context.err << "Each pod is ended and made again by its controller. Move "
                << counted(plan.moves.size(), "pod") << "? [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "y" || answer == "Y" || answer == "yes") return true;
    context.err << "aliquot: nothing was moved\n";
    context.exit_code = kFindings;
    return false;
}

void print_moved(Context& context, const DefragPlan& plan, const MoveRun& run,
                 const scheduling::WhollyFree& now) {
    context.out << '\n'
                << "Moved " << run.done().size() << " of " << counted(plan.moves.size(), "pod")
                << ". Wholly free: " << counted(now.gpus, "GPU") << " (before " << plan.before.gpus
                << ", planned " << plan.after.gpus << "), " << counted(now.nodes, "node")
                << " (before " << plan.before.nodes << ", planned " << plan.after.nodes << ")\n";
}

void apply_moves(Context& context, kube_client::Api& api, const DefragOptions& words,
                 MoveLease& lease, const Told& told) {
    if (told.plan.moves.empty() || !may_move_pods(context, words, told.plan)) return;
    const auto held = lease.hold();
    if (!held) return fail(context, held.failure());
    if (!held->empty()) return fail(context, kFindings, *held);
    MoveRun run(context, api, words.cluster, words.limits, lease);
    const std::string stopped = run.carry_out(told.plan);
    lease.let_go();
    if (words.format == "table") {
        const auto picture = read_moves(context, api, words.cluster, words.limits);
        if (picture) print_moved(context, told.plan, run, picture->placement.books.wholly_free());
    } else {
        Json json = defrag_json(words, told);
        json.update(moved_json(run, stopped));
        print_answer(context.out, "DefragPlan", json, words.format);
    }
    if (stopped.empty()) return;
    const int failed = context.exit_code;  // of a request
    fail(context, failed == kOk ? kFindings : failed, "stopped: " + stopped);
}

void defrag(Context& context, const DefragOptions& words) {
    const bool is_table = words.format == "table";
    if (words.apply && !words.yes && (!is_table || ::isatty(STDIN_FILENO) != 1)) {
        return fail(context, kUsage,
                    "--apply: nobody can be asked here; --yes moves pods without asking");
    }
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    MoveLease lease(*connection->api, words.cluster,
                    {.name_space = words.name_space, .identity = identity_of_this_run()});
    const auto told = told_plan(context, *connection->api, words, lease);
    if (!told) return;
    if (is_table) print_defrag(context, words, *told);
    if (words.apply && !told->plan.moves.empty())
        return apply_moves(context, *connection->api, words, lease, *told);
    if (!is_table) {
        print_answer(context.out, "DefragPlan", defrag_json(words, *told), words.format);
    } else if (!told->plan.moves.empty()) {
        context.out << "Nothing was moved; --apply does it, one pod after the other. The "
                       "controller puts the pod that\ncomes on the planned GPU if that is free "
                       "then; if not, --apply stops.\n";
    }
}

/// Reads a duration into `value`; answers what is wrong.
std::function<std::string(const std::string&)> limit_of_time(seconds& value, seconds least,
                                                             seconds most) {
    return [&value, least, most](const std::string& text) -> std::string {
        const auto read = parse_duration(text);
        if (!read || *read < least || *read > most) {
            return "'" + text + "' is not a time from " + std::to_string(least.count()) + "s to " +
                   std::to_string(most.count()) + "s, expected one as 10m";
        }
        value = std::chrono::floor<seconds>(*read);
        return {};
    };
}

constexpr char kDefragHelp[] =
    "Show which moves of running pods would leave whole GPUs and nodes free, or make them\n\n"
    "Only pods that placement put where they are, and that a controller makes again; no gangs,\n"
    "no pods of Jobs that do not say aliquot.dev/movable=true, none that say "
    "aliquot.dev/movable=false,\n"
    "and as many as PodDisruptionBudgets let go. Without --apply nothing is changed.\n"
    "Exit code 0: all that was planned was done; 1: it ended before.";

void add_move_limits(command_line::Command& command, DefragOptions& words) {
    command
        .add_option("--max-moves", words.limits.most_moves, "Maximum number of moves in one run",
                    "NUMBER (10)")
        ->range(1U, 1000U);
    command
        .add_option("--moves-per-hour", words.limits.per_hour,
                    "Maximum number of moves within an hour, of all runs together", "NUMBER (20)")
        ->range(1U, 1000U);
    command
        .add_option("--max-priority", words.limits.most_priority,
                    "Leave pods with a higher priority alone", "NUMBER (0)")
        ->range(-2'147'483'647 - 1, 2'147'483'647);
    command
        .add_option("--least-run", words.least_run,
                    "Leave pods alone that have run for less than this", "TIME (10m)")
        ->check(limit_of_time(words.limits.least_run, seconds(0), std::chrono::hours(24 * 365)));
    command
        .add_option("--timeout", words.patience,
                    "How long a pod may take to come back before no more are moved", "TIME (5m)")
        ->check(limit_of_time(words.limits.patience, seconds(1), seconds(3000)));
}

}  // namespace

void add_placement_defrag(command_line::Command& placement, Context& context) {
    command_line::Command* command = placement.add_subcommand("defrag", kDefragHelp);
    command->footer(
        "aliquot placement defrag\n"
        "aliquot placement defrag --apply --max-moves 4");
    auto words = std::make_shared<DefragOptions>();
    auto* const plan =
        command->add_flag("--plan", words->plan, "Only show what would be gained (default)");
    command->add_flag("--apply", words->apply, "Move the pods, one after the other")
        ->excludes(plan);
    command->add_flag("--yes", words->yes, "With --apply: do not ask");
    add_move_limits(*command, *words);
    command->add_option("--system-namespace", words->name_space,
                        "Namespace of the Lease aliquot-moves, which counts moves",
                        "NAME (aliquot-system)");
    add_output(*command, words->format);
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { defrag(context, *words); });
}

}  // namespace aliquot::cli
