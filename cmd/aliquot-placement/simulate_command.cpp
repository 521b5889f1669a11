// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <sstream>
#include <vector>

#include "cli/answer.h"
#include "cli/svg_file.h"
#include "cmd/aliquot-placement/commands.h"
#include "cmd/aliquot-placement/placement_input.h"
#include "command_line/command.h"
#include "os/replace_file.h"
#include "sim/trace/churn_text.h"
#include "sim/trace/outcome_text.h"
#include "sim/trace/plot.h"

namespace aliquot::cli {
namespace {

struct SimulateOptions {
    PlacementOptions placement;
    std::vector<std::string> compare;
    std::vector<std::int64_t> at{100, 130};
    std::string curve;
    std::string svg;
    std::string log;
    std::string churn;
    bool wait = false;
};

/// A line on a terminal that says how far it is, once it takes longer than people like to wait.
class Progress {
public:
    explicit Progress(Context& context) : context_(context) {}

    void show(const std::string& policy, std::size_t done, std::size_t all) {
        constexpr int kWidth = 30;
        const auto now = Clock::now();
        if (!context_.err_is_terminal || now < next_ || all == 0) return;
        next_ = now + std::chrono::milliseconds(200);
        shown_ = true;
        const auto filled = static_cast<int>(done * kWidth / all);
        context_.err << "\r\x1b[K" << policy << " [";
        for (int i = 0; i < kWidth; ++i) context_.err << (i < filled ? '#' : '.');
        context_.err << "] " << done << " of " << all << " arrivals" << std::flush;
    }

    void clear() {
        if (shown_) context_.err << "\r\x1b[K" << std::flush;
        shown_ = false;
    }

private:
    using Clock = std::chrono::steady_clock;

    Context& context_;
    Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
    bool shown_ = false;
};

bool ends_with_one_of(const std::string& name, std::initializer_list<std::string_view> endings) {
    for (const std::string_view ending : endings) {
        if (name.ends_with(ending)) return true;
    }
    return false;
}

/// The policies to run; empty after a failure, which is then told.
std::vector<std::string> policies_of(Context& context, const SimulateOptions& words) {
    if (words.compare.empty()) return {words.placement.policy};
    std::vector<std::string> policies;
    for (const std::string& word : words.compare) {
        if (word == "all") {
            for (const auto known : placement::policy_words()) policies.emplace_back(known);
        } else {
            policies.push_back(word);
        }
    }
    if (!words.log.empty() && policies.size() > 1) {
        fail(context, kUsage, "--log is of one run: leave out --compare, or name one policy");
        return {};
    }
    return policies;
}

/// Before hours of work rather than after them.
bool can_write(Context& context, const std::string& name) {
    if (name.empty() || name == "-") return true;
    const auto folder = std::filesystem::absolute(name).parent_path();
    const bool there = ::access(name.c_str(), F_OK) == 0;
    if (::access(there ? name.c_str() : folder.c_str(), W_OK) == 0) return true;
    fail(context, kUsage, name + ": cannot write it; a file in a folder that exists was expected");
    return false;
}

void write(Context& context, const std::string& name, const std::ostringstream& text) {
    if (name.empty()) return;
    const auto written = os::write_output(name, text.view());
    if (!written) fail(context, kCouldNotRun, written.error().message);
}

void print(Context& context, const SimulateOptions& words, const sim::trace::Scenario& scenario,
           const std::vector<sim::trace::Outcome>& outcomes) {
    if (words.placement.format == "text") {
        sim::trace::print_outcomes(context.out, scenario, outcomes);
    } else {
        print_simulated(context, "PlacementSimulation", sim::trace::outcomes_json(outcomes),
                        words.placement.format);
    }
}

/// What an option says of tasks that stay has no meaning for tasks that come and go.
std::string_view no_use_with_churn(const SimulateOptions& words) {
    if (!words.log.empty()) return "--log";
    if (!words.placement.order.empty()) return "--order";
    if (words.placement.inflate) return "--inflate";
    if (words.placement.departures) return "--departures";
    if (words.placement.migrate > 0) return "--migrate";
    if (words.placement.patience > 0) return "--patience";
    return {};
}

/// All loads, or all times, as a table or a plot.
template <class Outcome>
void write_curves(Context& context, const SimulateOptions& words,
                  const std::vector<Outcome>& outcomes) {
    const bool plot = words.curve.ends_with(".svg");
    if (!words.curve.empty() && !plot) {
        std::ostringstream table;
        sim::trace::print_curve(table, outcomes);
        write(context, words.curve, table);
    }
    if (!plot && words.svg.empty()) return;
    std::ostringstream picture;
    sim::trace::draw_plot(picture, outcomes);
    if (plot) write(context, words.curve, picture);
    write_svg(context, words.svg, picture.view());
}

void simulate_churn(Context& context, SimulateOptions words,
                    const std::vector<std::string>& policies) {
    const auto no_use = no_use_with_churn(words);
    if (!no_use.empty())
        return fail(context, kUsage,
                    std::string(no_use) + " is for tasks that stay: leave it out, or --churn");
    auto options = sim::trace::parse_churn(words.churn);
    if (!options)
        return fail(context, kUsage, std::move(options).error().during("--churn").message);
    options->wait = words.wait;
    words.placement.seed = options->seed;  // of the order of the nodes
    const auto scenario = read_scenario(words.placement);
    if (!scenario) return fail(context, kUsage, scenario.error().message);
    if (!can_write(context, words.curve) || !can_write(context, words.svg)) return;
    options->engine.learn = words.placement.learn;
    options->engine.seed = options->seed;
    Progress progress(context);
    std::vector<sim::trace::ChurnOutcome> outcomes;
    for (const std::string& policy : policies) {
        options->engine.policy =
            placement::parse_policy(policy).value_or(placement::Policy::kAliquot);
        options->progress = [&](std::size_t done, std::size_t all) {
            progress.show(policy, done, all);
        };
        auto outcome = sim::trace::run_churn(*scenario, *options);
        progress.clear();
        if (!outcome)
            return fail(context, kUsage, std::move(outcome).error().during("--churn").message);
        outcomes.push_back(*std::move(outcome));
    }
    write_curves(context, words, outcomes);
    if (!prints_beside(words.svg)) return;
    if (words.placement.format == "text")
        sim::trace::print_churn(context.out, *options, outcomes);
    else
        print_simulated(context, "PlacementSimulation", sim::trace::churn_json(*options, outcomes),
                        words.placement.format);
}

void simulate(Context& context, const SimulateOptions& words) {
    const std::vector<std::string> policies = policies_of(context, words);
    if (policies.empty()) return;
    if (!words.curve.empty() && !ends_with_one_of(words.curve, {".csv", ".svg"})) {
        return fail(context, kUsage,
                    "--curve " + words.curve + ": a name that ends with .csv or .svg was expected");
    }
    if (!words.churn.empty()) return simulate_churn(context, words, policies);
    if (words.wait)
        return fail(context, kUsage, "--wait is for tasks that come and go: add --churn");
    const auto scenario = read_scenario(words.placement);
    if (!scenario) return fail(context, kUsage, scenario.error().message);
    for (const std::string& name : {words.curve, words.svg, words.log})
        if (!can_write(context, name)) return;
    std::ostringstream log;

    sim::trace::ExperimentOptions options;
    options.replay = replay_options(words.placement);
    options.at = words.at;
    options.whole_curve = !words.curve.empty() || !words.svg.empty();
    if (!words.log.empty()) options.log = &log;
    Progress progress(context);
    std::vector<sim::trace::Outcome> outcomes;
    for (const std::string& policy : policies) {
        options.replay.policy =
            placement::parse_policy(policy).value_or(placement::Policy::kAliquot);
        options.progress = [&](std::size_t done, std::size_t all) {
            progress.show(policy, done, all);
        };
        auto outcome = sim::trace::run_experiment(*scenario, options);
        progress.clear();
        if (!outcome) {
            return fail(context, kCouldNotRun, std::move(outcome).error().during(policy).message);
        }
        outcomes.push_back(*std::move(outcome));
    }
    if (prints_beside(words.svg)) print(context, words, *scenario, outcomes);
    write(context, words.log, log);
    write_curves(context, words, outcomes);
}

}  // namespace

void add_simulate_command(command_line::Command& program, Context& context) {
    command_line::Command* simulations =
        program.add_subcommand("simulate", "Replay a cluster's trace: what would be placed where");
    simulations->footer("aliquot simulate placement --nodes nodes.csv --pods pods.csv");
    command_line::Command* command = simulations->add_subcommand(
        "placement",
        "Replay arrivals of tasks on a cluster: how much of its GPUs gets allocated\n\n"
        "Every task is placed at once or dropped. Values are means over the arrivals at which\n"
        "so much GPU had been asked for. Exit code 2: a file that cannot be read; the message\n"
        "has the line, the column, the value and what was expected.");
    command->footer(
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv\n"
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv --order order.csv --policy "
        "fgd -o json\n"
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv --compare aliquot,fgd "
        "--svg plot.svg\n"
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv --migrate 0.01 "
        "--patience 1000\n"
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv --churn "
        "load=0.85,tasks=60000 --compare aliquot,fgd,best-fit");
    auto words = std::make_shared<SimulateOptions>();
    add_placement_options(*command, words->placement);
    std::vector<std::string> known{"all"};
    for (const std::string_view word : placement::policy_words()) known.emplace_back(word);
    command
        ->add_option("--compare", words->compare, "Run several policies, one after another; or all",
                     "POLICY,POLICY,...")
        ->delimiter(',')
        ->one_of(known);
    command
        ->add_option("--at", words->at, "Loads, in percent of the capacity, to print (100,130)",
                     "LOAD,LOAD,...")
        ->delimiter(',')
        ->range(std::int64_t{0}, std::int64_t{100'000});
    command->add_option("--curve", words->curve, "Write all loads: a .csv table or an .svg plot",
                        "FILE");
    add_svg_flag(*command, words->svg, "all loads as a picture");
    command->add_option("--churn", words->churn,
                        "Tasks come and go: offered load, lifetime (exp, or trace: of the task "
                        "list), number and seed of the arrivals",
                        "load=0.85,lifetime=exp,tasks=60000,seed=1");
    command->add_flag("--wait", words->wait,
                      "With --churn: what does not fit waits instead of being dropped");
    command->add_option("--log", words->log, "Write every placement, drop, move and end as CSV",
                        "FILE");
    add_output(*command, words->placement.format, {"text"});
    command->callback([words, &context] { simulate(context, *words); });
}

}  // namespace aliquot::cli
