// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/host/driver_choice.h"
#include "cli/host/guarded_process.h"
#include "cli/host/run_device.h"
#include "command_line/command.h"
#include "guard_region/config_file.h"
#include "guard_region/guard_library.h"
#include "guard_region/meter.h"
#include "guard_region/runs.h"
#include "guard_region/status.h"
#include "k8s/memory_amount.h"
#include "nvml/driver.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNotExecutable = 126;  // as shells, env and timeout say it
constexpr int kNoSuchProgram = 127;
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::chrono::milliseconds kDriverDeadline{2000};

struct RunOptions {
    std::string memory;
    unsigned compute = 0;
    unsigned weight = 0;
    std::string gpu;
    std::string fail = "closed";
    DriverChoice driver;
    std::string guard_library;
    bool overcommit = false;
    bool verbose = false;
    std::vector<std::string> command;
};

/// Everything that a run has, in the order in which it is made.
struct Session {
    os::Root host{"/"};
    std::unique_ptr<nvml::Driver> driver;
    RunDevice device;
    fs::path library;
    std::optional<guard_region::Reservation> reservation;
    std::optional<guard_region::ConfigFile> config;
    std::optional<guard_region::LedgerFile> ledger;
    fs::path node_page;
    // From look to look: what a process holds is known from two that follow each other.
    std::unique_ptr<guard_region::HostProcesses> processes;
    std::unique_ptr<guard_region::Meter> meter;
};

Result<guard_region::Limits> limits_of(const RunOptions& words, const RunDevice& device) {
    guard_region::Limits limits{.uuid = device.uuid,
                                .context_bytes = device.context_bytes,
                                .cap_ppm = words.compute * guard_region::kPpmPerPercent,
                                .weight = words.weight};
    if (!words.memory.empty()) {
        const auto bytes = k8s::parse_bytes(words.memory);
        if (!bytes) return bytes.error();
        limits.memory_bytes = *bytes;
    }
    return limits;
}

Result<fs::path> find_library(const RunOptions& words, const Context& context) {
    fs::path library = words.guard_library.empty() ? context.program_directory.parent_path() /
                                                         "lib" / guard_region::kLibraryFile
                                                   : fs::absolute(words.guard_library);
    if (::access(library.c_str(), R_OK) != 0) {
        return os::error_from_errno(errno, library.native()).during("the guard's library");
    }
    // LD_PRELOAD is a list with these between its elements.
    if (library.native().find_first_of(" :") != std::string::npos) {
        return Error{ErrorCode::kInvalidInput,
                     library.native() + ": a blank or colon in this path cannot be preloaded"};
    }
    return library;
}

/// Makes what the guard needs. Its failures are what --fail is about.
Result<Done> prepare(const RunOptions& words, const Context& context,
                     const std::map<std::string, std::string>& environment, Session& session) {
    auto library = find_library(words, context);
    if (!library) return std::move(library).error();
    session.library = *std::move(library);
    nvml::DriverOptions options = driver_options_below_root(words.driver);
    options.deadline = kDriverDeadline;
    auto driver = nvml::Driver::open(session.host, options);
    if (!driver) return std::move(driver).error();
    session.driver = *std::move(driver);
    const auto inventory = session.driver->enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    const auto place = guard_region::Runs::usual_place(environment);
    if (!place) return place.error();
    const guard_region::Runs runs(*place);
    auto device = choose_device(words.gpu, devices_of(*inventory), environment, runs.list());
    if (!device) return std::move(device).error();
    session.device = *std::move(device);
    const auto limits = limits_of(words, session.device);
    if (!limits) return limits.error();
    auto reservation =
        runs.reserve({.settings = {.container = fs::path(words.command.front()).filename(),
                                   .fail_open = words.fail == "open",
                                   .devices = {*limits}},
                      .device_memory_bytes = session.device.memory_bytes,
                      .overcommit = words.overcommit});
    if (!reservation) return std::move(reservation).error();
    session.reservation.emplace(*std::move(reservation));
    auto config = guard_region::ConfigFile::open(session.reservation->config());
    if (!config) return std::move(config).error();
    session.config.emplace(*std::move(config));
    auto ledger = guard_region::LedgerFile::open(session.reservation->ledger());
    if (!ledger) return std::move(ledger).error();
    session.ledger.emplace(*std::move(ledger));
    session.node_page = runs.node_page();
    return Done{};
}

void prepend(std::map<std::string, std::string>& environment, const char* name,
             const std::string& value) {
    std::string& old = environment[name];
    old = old.empty() ? value : value + ":" + old;
}

void guard_environment(const RunOptions& words, const Session& session,
                       std::map<std::string, std::string>& environment) {
    environment["CUDA_VISIBLE_DEVICES"] = session.device.uuid;
    environment["ALIQUOT_GUARD_CONFIG"] = session.reservation->config();
    environment["ALIQUOT_GUARD_REGION"] = session.reservation->ledger();
    environment["ALIQUOT_GUARD_NODE"] = session.node_page;
    prepend(environment, "LD_PRELOAD", session.library.native());
    point_at_node(words.driver, environment);
}

guard_region::Reading look(Session& session) {
    if (!session.meter) {
        session.processes = std::make_unique<guard_region::HostProcesses>(session.host);
        session.meter = std::make_unique<guard_region::Meter>(*session.driver, *session.processes);
    }
    const std::array<guard_region::Metered, 1> regions{{{.id = "run",
                                                         .ledger = &*session.ledger,
                                                         .config = &*session.config,
                                                         .uuids = {session.device.uuid},
                                                         .by_mount = false}}};
    return std::move(session.meter->look(regions).front());
}

std::string seconds_text(std::uint64_t ns) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ns) / kNsPerSecond);
    return text.data();
}

void report(std::ostream& err, const Session& session) {
    guard_region::Reading reading;
    auto ledger = session.ledger->read();
    if (!ledger) {
        err << "aliquot: " << ledger.error().message << '\n';
        return;
    }
    reading.ledger = *std::move(ledger);
    const auto status = guard_region::make_status({.uuids = {session.device.uuid}},
                                                  session.config->settings(), reading);
    const guard_region::DeviceStatus& device = status.devices.front();
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
            return fail(context, wrong_word ? kUsage : kCouldNotRun, prepared.error().message);
        }
        context.err << "aliquot: " << prepared.error().message << "; running without limits\n";
    } else {
        guard_environment(words, session, environment);
        session.config->beat();
    }
    context.out.flush();
    std::jthread measuring;
    if (guarded) {
        measuring = std::jthread([&session](const std::stop_token& stop) {
            os::SystemClock clock;
            while (clock.sleep_for(kBetweenLooks, stop)) look(session);
        });
    }
    const auto exit = run_in_front({.argv = words.command, .environment = environment});
    if (measuring.joinable()) {
        measuring.request_stop();
        measuring.join();
    }
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
