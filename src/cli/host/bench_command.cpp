// SPDX-License-Identifier: Apache-2.0
// The same work on the CPU, on a whole GPU, in a share whose neighbours are idle, and in shares that are
// all at work. The four take turns, so that what changes with time changes all of them.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "base/number.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/host/bench_runs.h"
#include "cli/host/guarded_share.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "document/build.h"
#include "k8s/memory_amount.h"
#include "nvml/driver.h"
#include "os/spawner.h"
#include "plan/comparison.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;
using document::append;
using document::make_mapping;
using document::Value;

constexpr std::string_view kDeviceWord = "{device}";
constexpr const char* kProbe = "aliquot-probe";
constexpr const char* kProbeWork = "1,000 rounds of the probe's kernel over 4 MiB";

struct BenchOptions {
    unsigned shares = 2;
    std::string memory;
    std::string gpu;
    unsigned runs = 3;
    unsigned limit_seconds = 600;
    bool no_cpu = false;
    std::string expect;
    std::string guard_library;
    std::string format = "text";
    DriverChoice driver;
    std::vector<std::string> command;
};

/// What is measured, and where.
struct Bench {
    GuardedHost host;
    RunDevice device;
    std::vector<GuardedShare> shares;
    std::string share_memory;
    std::vector<std::string> command;
    std::string work;        // what the seconds are of
    bool simulated = false;  // the GPU: its times are this machine's
    std::map<std::string, std::string> environment;
};

std::vector<std::string> command_on(const Bench& bench, std::string_view device) {
    std::vector<std::string> words = bench.command;
    for (std::string& word : words) {
        for (std::size_t at = 0; (at = word.find(kDeviceWord, at)) != std::string::npos;) {
            word.replace(at, kDeviceWord.size(), device);
            at += device.size();
        }
    }
    return words;
}

BenchProcess on_cpu(const Bench& bench) {
    BenchProcess process{command_on(bench, "cpu"), bench.environment};
    process.environment["CUDA_VISIBLE_DEVICES"] = "";
    return process;
}

BenchProcess on_gpu(const Bench& bench, const BenchOptions& words) {
    BenchProcess process{command_on(bench, "cuda"), bench.environment};
    process.environment["CUDA_VISIBLE_DEVICES"] = bench.device.uuid;
    point_at_node(words.driver, process.environment);
    return process;
}

BenchProcess in_share(const Bench& bench, const BenchOptions& words, const GuardedShare& share) {
    BenchProcess process{command_on(bench, "cuda"), bench.environment};
    add_guard(bench.host, bench.device, share, process.environment);
    point_at_node(words.driver, process.environment);
    return process;
}

Result<std::vector<std::string>> command_of(const BenchOptions& words, const Context& context) {
    if (!words.command.empty()) return words.command;
    const fs::path probe = context.program_directory / kProbe;
    if (::access(probe.c_str(), X_OK) != 0) {
        return Error{ErrorCode::kNotFound,
                     probe.native() +
                         " is not there; say what to run instead: aliquot bench -- "
                         "COMMAND"};
    }
    return std::vector<std::string>{probe.native(), "--work", std::string(kDeviceWord)};
}

Result<Done> make_shares(const BenchOptions& words, Bench& bench) {
    constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
    bench.share_memory = words.memory;
    if (bench.share_memory.empty()) {
        bench.share_memory = std::to_string(bench.device.memory_bytes / words.shares / kMib) + "Mi";
    }
    constexpr unsigned kWeight = 100;  // the same for all
    const auto bytes = k8s::parse_bytes(bench.share_memory);
    if (!bytes) return bytes.error();
    if (*bytes > bench.device.memory_bytes / words.shares) {
        return Error{ErrorCode::kInvalidInput,
                     "--gpu-memory: " + std::to_string(words.shares) + " shares of " +
                         bench.share_memory + " do not fit the GPU's " +
                         k8s::bytes_text(bench.device.memory_bytes) + "; at most " +
                         std::to_string(bench.device.memory_bytes / words.shares / kMib) +
                         "Mi each is expected"};
    }
    for (unsigned i = 0; i < words.shares; ++i) {
        auto share = make_share(bench.host, bench.device,
                                {.memory = bench.share_memory,
                                 .weight = kWeight,
                                 .program = fs::path(bench.command.front()).filename()});
        if (!share) return std::move(share).error();
        bench.shares.push_back(*std::move(share));
    }
    for (GuardedShare& share : bench.shares) share.config.beat();
    return Done{};
}

Result<Bench> prepare(const BenchOptions& words, const Context& context) {
    Bench bench;
    bench.environment = os::current_environment();
    auto host = open_guarded_host(words.driver, words.guard_library, context.program_directory,
                                  bench.environment);
    if (!host) return std::move(host).error();
    bench.host = *std::move(host);
    auto device =
        choose_device(words.gpu, bench.host.devices, bench.environment, bench.host.runs->list());
    if (!device) return std::move(device).error();
    bench.device = *std::move(device);
    auto command = command_of(words, context);
    if (!command) return std::move(command).error();
    bench.command = *std::move(command);
    bench.simulated = !words.driver.node_state.empty() || !node_of_shell().empty();
    bench.work = words.command.empty() ? kProbeWork : "the command";
    const auto made = make_shares(words, bench);
    if (!made) return made.error();
    return bench;
}

/// Runs them at once, and adds their times.
Result<Done> time(const std::vector<BenchProcess>& processes, const std::string& where,
                  const BenchOptions& words, std::vector<double>& times) {
    const auto timings = run_together(processes, std::chrono::seconds(words.limit_seconds));
    if (!timings) {
        return Error(timings.error()).during("'" + processes.front().argv.front() + "' " + where);
    }
    for (const BenchTiming& timing : *timings) times.push_back(timing.seconds());
    return Done{};
}

Result<plan::Measured> measure(const BenchOptions& words, Bench& bench) {
    plan::Measured measured;
    measured.sharers = words.shares;
    std::vector<GuardedShare*> watched;
    std::vector<BenchProcess> all;
    for (GuardedShare& share : bench.shares) {
        watched.push_back(&share);
        all.push_back(in_share(bench, words, share));
    }
    const ShareWatch watch(bench.host, bench.device, std::move(watched));
    for (unsigned run = 0; run < words.runs; ++run) {
        if (!words.no_cpu) {
            const auto done = time({on_cpu(bench)}, "on the CPU", words, measured.cpu);
            if (!done) return done.error();
        }
        const auto whole = time({on_gpu(bench, words)}, "on the whole GPU", words, measured.gpu);
        if (!whole) return whole.error();
        const auto alone = time({all.front()}, "in a share", words, measured.share_alone);
        if (!alone) return alone.error();
        const auto shared =
            time(all, "in all " + std::to_string(words.shares) + " shares", words, measured.shared);
        if (!shared) return shared.error();
    }
    for (const GuardedShare& share : bench.shares) {
        const auto usage = usage_of(share, bench.device);
        if (!usage) return usage.error();
        // Time alone would miss a few short kernels at the very end.
        measured.used_gpu = measured.used_gpu && (usage->gpu_ns > 0 || usage->peak_bytes > 0);
    }
    return measured;
}

// The answer ----------------------------------------------------------------------------------

Value side_node(const plan::TimeSummary& summary, const std::optional<double>& speedup) {
    constexpr int kDigits = 9;
    Value node = make_mapping({{"median_seconds", document::make_number(summary.median, kDigits)},
                               {"least_seconds", document::make_number(summary.least, kDigits)},
                               {"most_seconds", document::make_number(summary.most, kDigits)}});
    append(node, "times_the_cpu", speedup ? document::make_number(*speedup) : Value{});
    return node;
}

Value answer_of(const BenchOptions& words, const Bench& bench, const plan::Comparison& made) {
    const RunDevice& device = bench.device;
    Value root = make_mapping();
    append(root, "gpu",
           make_mapping({{"index", device.index}, {"uuid", device.uuid}, {"model", device.model}}));
    append(root, "simulated", bench.simulated);
    append(root, "work", bench.work);
    append(root, "runs", words.runs);
    append(root, "shares", words.shares);
    append(root, "memory_per_share", bench.share_memory);
    append(root, "cpu", made.cpu ? side_node(*made.cpu, 1.0) : Value{});
    append(root, "whole_gpu", side_node(made.gpu, made.speedup_gpu));
    append(root, "share_alone", side_node(made.share_alone, made.speedup_share_alone));
    append(root, "shares_busy", side_node(made.shared, made.speedup_shared));
    append(root, "expected_times_the_cpu",
           made.expected_shared ? document::make_number(*made.expected_shared) : Value{});
    append(root, "overhead", document::make_number(made.overhead));
    append(root, "verdict", std::string(to_text(made.verdict)));
    append(root, "sentence", made.sentence);
    append(root, "reasons", made.reasons);
    return root;
}

/// "1.234 s", "12.3 ms"
std::string time_cell(double seconds) {
    constexpr double kMilli = 1000;
    constexpr double kLong = 0.1;
    return seconds >= kLong ? decimal_text(seconds, 3) + " s"
                            : decimal_text(seconds * kMilli, 3) + " ms";
}

Row row_of(std::string name, const plan::TimeSummary& summary,
           const std::optional<double>& speedup) {
    return {std::move(name), time_cell(summary.median), time_cell(summary.least),
            time_cell(summary.most), speedup ? decimal_text(*speedup) : ""};
}

void print_text(std::ostream& out, const BenchOptions& words, const Bench& bench,
                const plan::Comparison& made) {
    const std::string n = std::to_string(words.shares);
    out << "GPU " << bench.device.index << " (" << bench.device.model << "), " << n << " shares of "
        << bench.share_memory << ", " << words.runs << (words.runs == 1 ? " run" : " runs")
        << " of each; times of " << bench.work << '\n';
    if (bench.simulated) out << "The GPU is simulated: its times say nothing of a real one.\n";
    out << '\n';
    std::vector<Row> rows{{"WHERE", "MEDIAN", "LEAST", "MOST", "TIMES THE CPU"}};
    if (made.cpu) rows.push_back(row_of("CPU", *made.cpu, 1.0));
    rows.push_back(row_of("whole GPU", made.gpu, made.speedup_gpu));
    rows.push_back(row_of("a share, others idle", made.share_alone, made.speedup_share_alone));
    rows.push_back(row_of("a share, all " + n + " busy", made.shared, made.speedup_shared));
    print_rows(out, std::move(rows));
    out << '\n' << made.sentence << '\n';
    for (const std::string& reason : made.reasons) out << "  " << reason << '\n';
}

/// What is wrong with the words; empty: nothing.
std::string wrong_words(const BenchOptions& words) {
    if (!words.memory.empty()) {
        const auto bytes = k8s::parse_bytes(words.memory);
        constexpr std::uint64_t kLeast = std::uint64_t{1} << 20U;
        if (!bytes || *bytes < kLeast) {
            return "--gpu-memory: '" + words.memory +
                   "' is not an amount of memory; expected 512Mi or 3.5Gi, at least 1Mi";
        }
    }
    if (!words.expect.empty() && plan::known_work(words.expect) == nullptr) {
        return "--expect: nothing is known of '" + words.expect + "'; expected tts or stt";
    }
    return {};
}

void bench_all(Context& context, const BenchOptions& words) {
    const std::string wrong = wrong_words(words);
    if (!wrong.empty()) return fail(context, kUsage, wrong);
    auto bench = prepare(words, context);
    if (!bench) {
        const bool wrong_word = bench.error().code == ErrorCode::kInvalidInput;
        const bool too_much = bench.error().code == ErrorCode::kConflict;
        return fail(context, wrong_word ? kUsage : kCouldNotRun,
                    bench.error().message + (too_much ? "; --gpu-memory asks for less" : ""));
    }
    const auto measured = measure(words, *bench);
    if (!measured) return fail(context, kCouldNotRun, measured.error().message);
    const auto made =
        plan::compare(*measured, words.expect.empty() ? nullptr : plan::known_work(words.expect));
    const bool told =
        made.verdict != plan::Verdict::kNotSure && made.verdict != plan::Verdict::kUnused;
    context.exit_code = told ? kOk : kFindings;
    if (words.format == "text") {
        print_text(context.out, words, *bench, made);
    } else {
        print_answer(context.out, "BenchReport",
                     versioned(with_camel_case(answer_of(words, *bench, made))), words.format);
    }
}

}  // namespace

void add_bench_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "bench",
        "Measure the same work on the CPU, on a whole GPU and in shares of it, and show what pays "
        "off\n\n"
        "Without a command, a small kernel of our own is measured. In the command's arguments, "
        "{device} "
        "becomes cpu or cuda;\na line ALIQUOT_BENCH_SECONDS=1.5 that it prints is its time, else "
        "that from its start to its end.\n\n"
        "Exit code 1: the runs tell nothing; 3: nothing could be measured.");
    const auto words = std::make_shared<BenchOptions>();
    constexpr unsigned kMostShares = 32;
    constexpr unsigned kMostRuns = 100;
    constexpr unsigned kDay = 86'400;
    command
        ->add_option("--shares", words->shares, "Number of shares that work at the same time", "N")
        ->range(2U, kMostShares);
    command->add_option("--gpu-memory", words->memory,
                        "GPU memory of each share; default: an equal part of the GPU's", "AMOUNT");
    command->add_option("--gpu", words->gpu,
                        "Which GPU or MIG device; default: the one with the most room",
                        "INDEX|UUID");
    command->add_option("--runs", words->runs, "Runs of each kind", "N")->range(1U, kMostRuns);
    command->add_option("--limit", words->limit_seconds, "Longest time of one run", "SECONDS")
        ->range(1U, kDay);
    command->add_flag("--no-cpu", words->no_cpu, "Skip the CPU: the program needs a GPU");
    command->add_option("--expect", words->expect,
                        "Compare with what is known of this work: tts is 10 s of speech made, "
                        "stt 1 min of speech read",
                        "tts|stt");
    add_driver_flags(*command, words->driver);
    command->add_option(
        "--guard-library", words->guard_library,
        "The guard; default: lib/libaliquot-guard.so beside this program's directory", "FILE");
    add_output(*command, words->format, {"text"});
    command->add_option("COMMAND", words->command, "The program and its arguments, after --", " ");
    command->footer(
        "aliquot bench\n"
        "aliquot bench --shares 4 --gpu 1 -o json\n"
        "aliquot bench --expect tts -- python3 speak.py --device {device}");
    command->callback([words, &context] { bench_all(context, *words); });
}

}  // namespace aliquot::cli
