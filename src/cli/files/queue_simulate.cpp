// SPDX-License-Identifier: Apache-2.0
// aliquot queue simulate: a trace of jobs under published queue policies and ours.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ostream>

#include "base/number.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "cli/files/queue_command.h"
#include "cli/files/queue_figures.h"
#include "cli/rows.h"
#include "cli/svg_file.h"
#include "command_line/command.h"
#include "document/build.h"
#include "document/json.h"
#include "document/write.h"
#include "replay/figures.h"
#include "replay/simulation.h"
#include "replay/trace.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::Value;
using queue::Policy;

constexpr std::size_t kMostTraceMib = 2'048;
constexpr std::int64_t kMilliPerGpu = 1'000;

struct PolicyWord {
    std::string_view word;
    Policy policy;
};
constexpr std::array kPolicies = std::to_array<PolicyWord>({{"fifo", Policy::kFifo},
                                                            {"sjf", Policy::kSjf},
                                                            {"srtf", Policy::kSrtf},
                                                            {"qssf", Policy::kQssf},
                                                            {"best-effort", Policy::kBestEffort},
                                                            {"easy", Policy::kEasy},
                                                            {"aliquot", Policy::kAliquot}});

struct SimulateOptions {
    std::string trace = "synthetic";
    std::string format;
    std::string speeds;
    std::string only;
    unsigned gpus = 64;
    unsigned per_node = 8;
    std::vector<std::string> policies = {"fifo", "best-effort", "easy", "aliquot"};
    std::string estimates = "policy";
    double padding = 5;
    std::uint64_t seed = 1;
    unsigned jobs = 5'000;
    double load = 0.8;
    unsigned users = 30;
    unsigned reservations = queue::Options{}.reservations;
    unsigned forecasts = 2'000;
    std::vector<std::string> queues;
    bool reclaim = false;
    std::string output = "table";
    std::string svg;
};

// ---- what is played -------------------------------------------------------------------------------

/// Where a published trace is to be had; empty: the word names none.
std::string_view source_of(const std::string& word) {
    if (word == "philly") return "cluster_job_log of github.com/msr-fiddle/philly-traces";
    if (word == "gavel")
        return "scheduler/traces/msr/*/*.trace of github.com/stanford-futuredata/gavel, with "
               "--speeds "
               "simulation_throughputs.json of the same place";
    if (word == "openb")
        return "data/csv/openb_pod_list_default.csv of "
               "github.com/hkust-adsl/kubernetes-scheduler-simulator";
    return {};
}

std::string format_of(const std::string& text) {
    const std::string_view start = trim(std::string_view(text).substr(0, 64));
    if (!start.empty() && start.front() == '[') return "philly";
    return std::string_view(text).substr(0, text.find('\n')).find('\t') == std::string_view::npos
               ? "csv"
               : "gavel";
}

Result<replay::Trace> trace_of(const SimulateOptions& words) {
    if (words.trace == "synthetic")
        return replay::synthetic({.jobs = words.jobs,
                                  .gpus = words.gpus,
                                  .load = words.load,
                                  .users = words.users,
                                  .seed = words.seed});
    if (const std::string_view source = source_of(words.trace); !source.empty())
        return Error{ErrorCode::kInvalidInput,
                     "--trace " + words.trace +
                         ": no trace comes with aliquot; give the path of your copy of " +
                         std::string(source)};
    const auto input = read_input(words.trace, kMostTraceMib);
    if (!input) return input.error();
    const std::string format = words.format.empty() ? format_of(input->text) : words.format;
    if (format == "csv") return replay::read_csv(input->name, input->text);
    if (format == "philly") return replay::read_philly(input->name, input->text);
    if (words.speeds.empty())
        return Error{ErrorCode::kInvalidInput,
                     input->name +
                         ": a trace of Gavel has steps, not seconds: give --speeds "
                         "simulation_throughputs.json of the same project"};
    const auto speeds = read_input(words.speeds, kMostTraceMib);
    if (!speeds) return speeds.error();
    return replay::read_gavel(input->name, input->text, speeds->name, speeds->text);
}

/// NAME=GPUS[+BORROWED][@COHORT]
Result<queue::Queue> queue_of(const std::string& text) {
    const auto wrong = [&] {
        return Error{
            ErrorCode::kInvalidInput,
            "--queue: " + text + ", expected NAME=GPUS[+BORROWED][@COHORT], e.g. lab=8+4@all"};
    };
    queue::Queue made;
    const std::size_t is = text.find('=');
    if (is == std::string::npos || is == 0) return wrong();
    made.name = text.substr(0, is);
    std::string quota = text.substr(is + 1);
    if (const std::size_t at = quota.find('@'); at != std::string::npos) {
        made.cohort = quota.substr(at + 1);
        quota.resize(at);
    }
    if (const std::size_t plus = quota.find('+'); plus != std::string::npos) {
        const auto borrowed = parse_number<unsigned>(std::string_view(quota).substr(plus + 1));
        if (!borrowed) return wrong();
        made.borrow_milli = kMilliPerGpu * *borrowed;
        quota.resize(plus);
    }
    const auto gpus = parse_number<unsigned>(quota);
    if (!gpus) return wrong();
    made.quota_milli = kMilliPerGpu * *gpus;
    return made;
}

Result<replay::Setup> setup_of(const SimulateOptions& words) {
    replay::Setup setup{.gpus = words.gpus,
                        .per_node = words.per_node,
                        .padding = words.padding,
                        .seed = words.seed,
                        .forecasts = words.forecasts};
    setup.options.reservations = words.reservations;
    setup.options.reclaim = words.reclaim;
    using replay::Estimates;
    for (const auto& [word, estimates] : {std::pair{"exact", Estimates::kExact},
                                          {"history", Estimates::kHistory},
                                          {"padded", Estimates::kPadded},
                                          {"limits", Estimates::kLimits}})
        if (words.estimates == word) setup.estimates = estimates;
    for (const std::string& text : words.queues) {
        auto queue = queue_of(text);
        if (!queue) return std::move(queue).error();
        setup.queues.push_back(std::move(*queue));
    }
    return setup;
}

// ---- what came of it ------------------------------------------------------------------------------

void print_table(std::ostream& out, const replay::Trace& trace, const SimulateOptions& words,
                 const std::vector<PolicyOutcome>& outcomes) {
    out << trace.jobs.size() << " jobs";
    if (trace.skipped > 0) out << " (" << trace.skipped << " lines skipped)";
    out << " on " << words.gpus << " GPUs, "
        << (words.per_node == 0 ? std::string("one pool")
                                : std::to_string(words.per_node) + " per node")
        << "\n\n";
    print_rows(out, size_rows(outcomes));
    out << '\n';
    print_rows(out, rows_of_all_sizes(outcomes));
}

void print_outcomes(Context& context, const replay::Trace& trace, const SimulateOptions& words,
                    const std::vector<PolicyOutcome>& outcomes) {
    const bool named = words.output.ends_with(".svg");
    if (named || !words.svg.empty()) {
        std::vector<replay::Curve> curves;
        for (const PolicyOutcome& outcome : outcomes)
            curves.push_back({outcome.policy, outcome.waits});
        write_svg(context, named ? words.output : words.svg, replay::wait_picture(curves));
    }
    if (!prints_beside(words.svg)) return;
    if (words.output != "json" && words.output != "yaml") {
        return print_table(context.out, trace, words, outcomes);
    }
    print_answer(
        context.out, "QueueSimulation",
        with_camel_case(make_mapping({{"jobs", trace.jobs.size()},
                                      {"skipped", trace.skipped},
                                      {"gpus", words.gpus},
                                      {"per_node", words.per_node},
                                      {"policies", make_sequence(outcomes, outcome_node)}})),
        words.output);
}

void simulate(Context& context, const SimulateOptions& words) {
    auto trace = trace_of(words);
    if (!trace) return fail(context, kUsage, trace.error().message);
    if (!words.only.empty()) {
        std::erase_if(trace->jobs,
                      [&](const replay::TraceJob& job) { return job.queue != words.only; });
        trace = replay::in_order("queue " + words.only, std::move(*trace));
        if (!trace) return fail(context, kUsage, trace.error().message);
    }
    auto setup = setup_of(words);
    if (!setup) return fail(context, kUsage, setup.error().message);
    std::vector<PolicyOutcome> outcomes;
    for (const std::string& word : words.policies) {
        setup->options.policy =
            std::find_if(kPolicies.begin(), kPolicies.end(), [&](const PolicyWord& p) {
                return p.word == word;
            })->policy;
        const auto played = replay::play(*trace, *setup);
        if (!played) return fail(context, kUsage, played.error().message);
        PolicyOutcome outcome{word, replay::figures_of(*played), {}};
        for (const replay::JobRun& job : played->jobs)
            if (job.start >= 0)
                outcome.waits.push_back(static_cast<double>(job.end - job.submit - job.run) /
                                        1'000);
        outcomes.push_back(std::move(outcome));
    }
    print_outcomes(context, *trace, words, outcomes);
}

void add_synthetic(command_line::Command& command, SimulateOptions& words) {
    command.add_option("--seed", words.seed, "Seed of the synthetic trace and of padded estimates",
                       "N (1)");
    command.add_option("--jobs", words.jobs, "Jobs of the synthetic trace", "N (5000)")
        ->range(1U, 5'000'000U);
    command
        .add_option("--load", words.load,
                    "Load of the synthetic trace: GPU time asked for, divided by GPU time there is",
                    "X (0.8)")
        ->range(0.01, 10.0);
    command.add_option("--users", words.users, "Users of the synthetic trace", "N (30)")
        ->range(1U, 10'000U);
}

void add_output(command_line::Command& command, SimulateOptions& words) {
    command
        .add_option("-o,--output", words.output,
                    "table, json, yaml, or a file for a picture of the waits",
                    "FORMAT (table, json, yaml, FILE.svg)")
        ->check([](const std::string& value) {
            const bool good = value == "table" || value == "text" || value == "json" ||
                              value == "yaml" ||
                              (value.size() > 4 && value.compare(value.size() - 4, 4, ".svg") == 0);
            return good ? std::string() : value + ", expected table, json, yaml or FILE.svg";
        });
}

}  // namespace

void add_queue_simulate(command_line::Command& queue, Context& context) {
    command_line::Command* command =
        queue.add_subcommand("simulate",
                             "Replay a trace of jobs under queue policies and compare the waits\n\n"
                             "A trace is a CSV with a heading: submit and duration in seconds, "
                             "gpus, user, queue, name; or a published "
                             "one (Philly, Gavel, Alibaba's openb) that you have. Without one, a "
                             "synthetic trace is played.");
    command->footer(
        "aliquot queue simulate --gpus 64\n"
        "aliquot queue simulate --trace jobs.csv --gpus 128 --policy best-effort,aliquot --svg "
        "waits.svg\n"
        "aliquot queue simulate --trace 11cb48.trace --speeds simulation_throughputs.json --gpus "
        "18 --per-node 0");
    auto words = std::make_shared<SimulateOptions>();
    std::vector<std::string> names;
    for (const PolicyWord& policy : kPolicies) names.emplace_back(policy.word);
    command->add_option("--trace", words->trace, "A trace, or 'synthetic'", "FILE");
    command
        ->add_option("--format", words->format, "Format of the trace, if its content does not tell",
                     "FORMAT (csv, gavel, philly)")
        ->one_of({"csv", "gavel", "philly"});
    command->add_option("--speeds", words->speeds,
                        "Gavel's simulation_throughputs.json, for its traces", "FILE");
    command->add_option("--only", words->only, "Only jobs of this queue of the trace", "QUEUE");
    command->add_option("--gpus", words->gpus, "GPUs of the cluster", "N (64)")
        ->range(1U, replay::kMostGpus);
    command
        ->add_option("--per-node", words->per_node,
                     "GPUs of a node; 0: one pool, regardless of nodes", "N (8)")
        ->range(0U, placement::kMostDevices);
    command
        ->add_option("--policy", words->policies, "Policies to compare",
                     "P,P (fifo, sjf, srtf, qssf, best-effort, easy, aliquot)")
        ->delimiter(',')
        ->one_of(names);
    command
        ->add_option("--estimates", words->estimates,
                     "What policies know about run times: policy (sjf and srtf exactly, others by "
                     "history), exact, history, padded (1 to --padding times too long), or limits "
                     "(padded as --time is, beside history)",
                     "WHAT (policy)")
        ->one_of({"policy", "exact", "history", "padded", "limits"});
    command->add_option("--padding", words->padding, "Largest factor of padded estimates", "X (5)")
        ->range(1.0, 1'000.0);
    command
        ->add_option("--reservations", words->reservations,
                     "Number of blocked jobs that 'aliquot' protects from delay", "N")
        ->capture_default_str()
        ->range(1U, 16U);
    command->add_option("--queue", words->queues,
                        "A quota: NAME=GPUS[+BORROWED][@COHORT]; repeatable", "QUOTA");
    command->add_flag("--reclaim", words->reclaim,
                      "'aliquot' ends jobs of borrowing queues for those below their quota");
    command
        ->add_option("--forecasts", words->forecasts,
                     "Number of forecasts to compare with what happened; 0: none", "N (2000)")
        ->range(0U, 5'000'000U);
    add_synthetic(*command, *words);
    add_output(*command, *words);
    add_svg_flag(*command, words->svg, "the waits of each policy as a picture");
    command->callback([words, &context] { simulate(context, *words); });
}

}  // namespace aliquot::cli
