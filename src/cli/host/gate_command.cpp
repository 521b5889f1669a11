// SPDX-License-Identifier: Apache-2.0
// aliquot gate: between two jobs, is a GPU as the next one should find it?
#include "cli/host/gate_command.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "document/build.h"
#include "gate/observe.h"
#include "gate/record.h"
#include "gate/run.h"
#include "nvml/driver.h"
#include "nvml/meters.h"
#include "os/replace_file.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

Result<gate::Verdict> look(const GateOptions& words, const gate::NodeState* base,
                           const gate::RunOptions& options) {
    const os::Root host(host_of(words.driver));
    const auto driver_words = driver_options(words.driver);
    auto driver = nvml::Driver::open(host, driver_words);
    if (!driver) return std::move(driver).error();
    auto meters = nvml::Meters::open(host, driver_words);
    if (!meters) return std::move(meters).error();
    os::SystemClock clock;
    const auto own = static_cast<std::uint32_t>(::getpid());
    const gate::World world{.observe =
                                [&] {
                                    return gate::observe(
                                        **driver, **meters, words.gpus,
                                        std::chrono::milliseconds(words.deadline_ms));
                                },
                            .signal =
                                [own](std::uint32_t pid, int number) {
                                    if (pid > 1 && pid != own)
                                        ::kill(static_cast<pid_t>(pid), number);
                                },
                            .clock = clock};
    return gate::run(world, base, options);
}

void print_verdict(Context& context, const GateOptions& words, const gate::Verdict& verdict) {
    if (words.format != "text") {
        const auto one = [](const gate::Leftover& leftover) {
            return document::make_mapping({{"kind", to_text(leftover.kind)},
                                           {"gpu", leftover.gpu},
                                           {"uuid", leftover.uuid},
                                           {"message", leftover.message}});
        };
        return print_answer(context.out, "GateVerdict",
                            versioned(document::make_mapping(
                                {{"clean", verdict.leftovers.empty()},
                                 {"gpus", verdict.state.size()},
                                 {"leftovers", document::make_sequence(verdict.leftovers, one)},
                                 {"ended", verdict.ended}})),
                            words.format);
    }
    for (const auto pid : verdict.ended) context.out << "ended process " << pid << '\n';
    for (const auto& one : verdict.leftovers) context.out << one.message << '\n';
    if (verdict.leftovers.empty()) {
        context.out << counted(verdict.state.size(), "GPU") << " clean\n";
    }
}

void finish(Context& context, const GateOptions& words, const gate::Verdict& verdict) {
    print_verdict(context, words, verdict);
    if (verdict.leftovers.empty()) return;
    context.exit_code = words.keep_going ? kOk : kFindings;
    if (!words.quarantine.empty() && !quarantine(context, words, verdict.leftovers)) {
        context.exit_code = kCouldNotRun;
    }
}

/// Which GPUs, and whether their processes may end: those of others than the job's are not to be ended in passing.
/// None: it was told what is wrong.
std::optional<gate::RunOptions> options_of(Context& context, GateOptions& words) {
    const auto options = run_options(context, words);
    if (!options) return std::nullopt;
    if (options->orphans == gate::Orphans::kEnd && words.gpus.empty()) {
        fail(context, kUsage,
             "--end-orphans would end processes on every GPU of this machine, also those of other "
             "jobs; name the job's GPUs by --gpu, or all of them by --gpu all");
        return std::nullopt;
    }
    std::erase(words.gpus, "all");
    return options;
}

/// A GPU that is not there was named wrongly; a driver that is not there is nothing that a user wrote.
void fail_to_look(Context& context, const Error& error) {
    fail(context, error.code == ErrorCode::kInvalidInput ? kUsage : kCouldNotRun, error.message);
}

void before(Context& context, GateOptions words) {
    const auto options = options_of(context, words);
    if (!options) return;
    const auto verdict = look(words, nullptr, *options);
    if (!verdict) return fail_to_look(context, verdict.error());
    if (verdict->leftovers.empty()) {
        std::error_code problem;
        std::filesystem::create_directories(std::filesystem::path(words.record).parent_path(),
                                            problem);
        const auto written = os::write_output(words.record, gate::to_json(verdict->state), 0600);
        if (!written) return fail(context, kCouldNotRun, written.error().message);
    }
    finish(context, words, *verdict);
}

void after_job(Context& context, GateOptions words) {
    const auto options = options_of(context, words);
    if (!options) return;
    std::optional<gate::NodeState> base;
    const auto text = os::Root().read(std::filesystem::absolute(words.record).native());
    if (text) {
        auto read = gate::read_record(*text);
        if (!read) return fail(context, kUsage, words.record + ": " + read.error().message);
        base = *std::move(read);
        // Of a record of all GPUs those that are not asked about are not gone.
        std::erase_if(*base, [&](const gate::GpuState& gpu) {
            return !words.gpus.empty() &&
                   std::ranges::find(words.gpus, gpu.uuid) == words.gpus.end() &&
                   std::ranges::find(words.gpus, std::to_string(gpu.index)) == words.gpus.end();
        });
    } else {
        context.err << "aliquot: no record of 'aliquot gate before' (" << text.error().message
                    << "): clocks and MIG devices are not compared\n";
    }
    const auto verdict = look(words, base ? &*base : nullptr, *options);
    if (!verdict) return fail_to_look(context, verdict.error());
    finish(context, words, *verdict);
}

command_line::Command* add_phase(command_line::Command& gate, const char* name, const char* what,
                                 GateOptions& words) {
    command_line::Command* command = gate.add_subcommand(name, what);
    add_driver_flags(*command, words.driver);
    command->add_option(
        "--gpu", words.gpus,
        "Only this GPU, by index or uuid; may be repeated; with --end-orphans these "
        "must be named, or all",
        "GPU (all)");
    command->add_option("--record", words.record,
                        "Where 'before' writes what 'after' compares with",
                        "FILE (/run/aliquot/gate.json)");
    add_gate_options(*command, words);
    command->add_flag("--keep-going", words.keep_going,
                      "Exit with 0 whatever is found: a hook that fails would fail the job");
    add_output(*command, words.format, {"text"});
    add_cluster_flags(*command, words.cluster);
    return command;
}

}  // namespace

void add_gate_command(command_line::Command& program, Context& context) {
    command_line::Command* gate = program.add_subcommand(
        "gate",
        "Check that a GPU is clean before and after a job: no process, memory at the base line, no "
        "fault,\nclocks and MIG devices as before\n\nExit code 0: clean; 1: something is left "
        "over; "
        "3: could not check.");
    gate->require_subcommand(1);
    gate->footer(
        "aliquot gate before\n"
        "aliquot gate after --end-orphans --gpu 0 --quarantine gpu-1\n"
        "aliquot gate after --gpu 0 -o json\n"
        "aliquot gate watch --end-orphans --quarantine gpu-1");
    auto words = std::make_shared<GateOptions>();
    command_line::Command* first =
        add_phase(*gate, "before", "Check before a job, and record the state of its GPUs", *words);
    first->footer("aliquot gate before\naliquot gate before --gpu 0 --record /tmp/gate.json");
    first->callback([words, &context] { before(context, *words); });
    command_line::Command* second =
        add_phase(*gate, "after", "Check after a job, against what 'before' recorded", *words);
    second->footer("aliquot gate after --end-orphans --gpu 0 --keep-going --quarantine gpu-1");
    second->callback([words, &context] { after_job(context, *words); });
    add_gate_watch(*gate, words, context);
}

}  // namespace aliquot::cli
