// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/host/guarded_process.h"
#include "cli/host/guarded_share.h"
#include "command_line/command.h"
#include "k8s/memory_amount.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNotExecutable = 126;  // as shells, env and timeout say it
constexpr int kNoSuchProgram = 127;

struct RunOptions {
    std::string memory;
    unsigned compute = 0;
    unsigned weight = 0;
    std::string gpu;
    std::string name;  // in the books; empty: the program's
    std::string fail = "closed";
    DriverChoice driver;
    std::string guard_library;
    bool overcommit = false;
    bool verbose = false;
    std::vector<std::string> command;
};

/// Everything that a run has, in the order in which it is made.
struct Session {
    GuardedHost host;
    RunDevice device;
    std::optional<GuardedShare> share;
};

/// Makes what the guard needs. Its failures are what --fail is about.
Result<Done> prepare(const RunOptions& words, const Context& context,
                     const std::map<std::string, std::string>& environment, Session& session) {
    auto host = open_guarded_host(words.driver, words.guard_library, context.program_directory,
                                  environment);
    if (!host) return std::move(host).error();
    session.host = *std::move(host);
    auto device =
        choose_device(words.gpu, session.host.devices, environment, session.host.runs->list());
    if (!device) return std::move(device).error();
    session.device = *std::move(device);
    auto share = make_share(
        session.host, session.device,
        {.memory = words.memory,
         .compute = words.compute,
         .weight = words.weight,
         .program =
             words.name.empty() ? fs::path(words.command.front()).filename().native() : words.name,
         .fail_open = words.fail == "open",
         .overcommit = words.overcommit});
    if (!share) return std::move(share).error();
    session.share.emplace(*std::move(share));
    return Done{};
}

std::string seconds_text(std::uint64_t ns) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ns) / kNsPerSecond);
    return text.data();
}

void report(std::ostream& err, const Session& session) {
    const auto usage = usage_of(*session.share, session.device);
    if (!usage) {
        err << "aliquot: " << usage.error().message << '\n';
        return;
    }
    const guard_region::DeviceStatus& device = *usage;
    err << "aliquot: GPU " << session.device.index << " (" << session.device.model << "): peak "
        << k8s::bytes_text(device.peak_bytes);
    if (device.limits.memory_bytes != 0)
        err << " of " << k8s::bytes_text(device.limits.memory_bytes);
    err << ", " << device.denied << " denied, GPU time " << seconds_text(device.gpu_ns)
        << ", held back " << seconds_text(device.throttled_ns) << '\n';
    for (const std::string_view remark : device.remarks) {
        err << "aliquot: remark " << remark << ": " << guard_region::meaning_of(remark) << '\n';
    }
}

int code_of(const Error& error) {
    return error.code == ErrorCode::kNotFound ? kNoSuchProgram : kNotExecutable;
}

void run(Context& context, const RunOptions& words) {
    if (words.memory.empty() && words.compute == 0 && words.weight == 0) {
        return fail(context, kUsage,
                    "no limit is asked for: say --gpu-memory, --gpu-compute or --gpu-weight");
    }
    if (!words.memory.empty()) {
        const auto bytes = k8s::parse_bytes(words.memory);
        constexpr std::uint64_t kLeast = std::uint64_t{1} << 20U;
        if (!bytes || *bytes < kLeast) {
            return fail(context, kUsage,
                        "--gpu-memory: '" + words.memory +
                            "' is not an amount of memory; expected 512Mi or 3.5Gi, at least 1Mi");
        }
    }
    block_signals();  // before the driver's threads
    auto environment = os::current_environment();
    Session session;
    const auto prepared = prepare(words, context, environment, session);
    const bool guarded = prepared.ok();
    if (!guarded) {
        const bool wrong_word = prepared.error().code == ErrorCode::kInvalidInput;
        const bool too_much = prepared.error().code == ErrorCode::kConflict;
        if (wrong_word || too_much || words.fail != "open") {
            return fail(
                context, wrong_word ? kUsage : kCouldNotRun,
                prepared.error().message + (too_much ? "; --overcommit runs it all the same" : ""));
        }
        context.err << "aliquot: " << prepared.error().message << "; running without limits\n";
    } else {
        add_guard(session.host, session.device, *session.share, environment);
        point_at_node(words.driver, environment);
        session.share->config.beat();
    }
    context.out.flush();
    std::optional<ShareWatch> watch;
    if (guarded) watch.emplace(session.host, session.device, std::vector{&*session.share});
    const auto exit = run_in_front({.argv = words.command, .environment = environment});
    watch.reset();
    if (!exit) return fail(context, code_of(exit.error()), exit.error().message);
    if (guarded && words.verbose) report(context.err, session);
    context.exit_code = exit->code;
}

}  // namespace

void add_run_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "run", "Run a program with a limit of GPU memory and a share of the GPU");
    const auto words = std::make_shared<RunOptions>();
    command->add_option("--gpu-memory", words->memory, "GPU memory limit: 2Gi, 512Mi", "AMOUNT");
    command_line::Option* compute =
        command
            ->add_option("--gpu-compute", words->compute, "Maximum GPU time, in percent of one GPU",
                         "PERCENT")
            ->range(1U, 100U);
    command
        ->add_option("--gpu-weight", words->weight,
                     "Weight when others compete for the GPU: 30 beside 70 gets 30 %", "N")
        ->range(1U, 10'000U)
        ->excludes(compute);
    command->add_option("--name", words->name, "", "NAME")->hidden();
    command->add_option("--gpu", words->gpu,
                        "Which GPU or MIG device; default: the one with the most room",
                        "INDEX|UUID");
    command
        ->add_option(
            "--fail", words->fail,
            "What to do when limits cannot be set up: do not run (closed), or run without (open)",
            "open|closed")
        ->one_of({"open", "closed"});
    command->add_flag("--overcommit", words->overcommit,
                      "Run even if the limits of all runs together exceed the GPU's memory");
    command->add_flag("-v,--verbose", words->verbose, "Print what it used to stderr at the end");
    add_driver_flags(*command, words->driver);
    command->add_option(
        "--guard-library", words->guard_library,
        "The guard; default: lib/libaliquot-guard.so beside this program's directory", "FILE");
    command->add_option("COMMAND", words->command, "The program and its arguments, after --", " ")
        ->required();
    command->footer(
        "aliquot run --gpu-memory 2Gi -- python3 train.py\n"
        "aliquot run --gpu-memory 4Gi --gpu-compute 50 --gpu 1 -- ./infer --batch 8\n"
        "aliquot run --gpu-memory 4Gi --gpu-weight 30 -v -- python3 train.py");
    command->callback([words, &context] { run(context, *words); });
}

}  // namespace aliquot::cli
