// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/number.h"
#include "base/sentence.h"
#include "cli/commands.h"
#include "cli/host/driver_choice.h"
#include "cli/host/run_device.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/serve_costs.h"
#include "cli/jobs/serve_idle.h"
#include "cli/jobs/serve_machine.h"
#include "cli/jobs/serve_page.h"
#include "cli/jobs/use_meter.h"
#include "command_line/command.h"
#include "http/server.h"
#include "job_server/attempt.h"
#include "job_server/gang.h"
#include "job_server/keeper.h"
#include "job_server/pages.h"
#include "k8s/memory_amount.h"
#include "nvml/driver.h"
#include "os/passed_socket.h"
#include "os/root.h"
#include "os/spawner.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kDriverPatience{5'000};
constexpr std::size_t kMostBody = std::size_t{1} << 20U;

struct ServeOptions {
    std::string container = "auto";
    unsigned gang = 0;  // of --run-gang: so many, of the command
    std::vector<std::string> gang_command;
    std::string attempt;
    std::string guarded;
    std::string state;
    std::string socket;
    std::string mode = "0660";
    std::string group;
    std::vector<std::string> gpus;
    std::string page = "off";
    std::string page_web_config;
    DriverChoice driver;
    std::string output = "64Mi";
    std::size_t most_jobs = 20'000;
    unsigned grace = 10;
    CostWords cost;
    IdleWords idle;
};

std::string variable_of_shell(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at start
    return value == nullptr ? "" : value;
}

fs::path usual_state() {
    if (::geteuid() == 0) return "/var/lib/aliquot/jobs";
    const std::string named = variable_of_shell("XDG_STATE_HOME");
    const fs::path base =
        named.empty() ? fs::path(variable_of_shell("HOME")) / ".local/state" : fs::path(named);
    return base / "aliquot/jobs";
}

/// inventory   gets what the driver tells; empty: the GPUs are simulated
Result<std::vector<job_server::Device>> devices_here(const ServeOptions& options,
                                                     gpu::Inventory& inventory) {
    std::vector<job_server::Device> devices;
    for (const std::string& word : options.gpus) {
        auto more = job_server::simulated_devices(word, static_cast<unsigned>(devices.size()));
        if (!more) return std::move(more).error();
        devices.insert(devices.end(), more->begin(), more->end());
    }
    if (!devices.empty()) return devices;
    nvml::DriverOptions wish = driver_options_below_root(options.driver);
    wish.deadline = kDriverPatience;
    auto driver = nvml::Driver::open(os::Root("/"), wish);
    if (!driver) {
        Error error = std::move(driver).error();
        error.message += "; --gpu a2 simulates a GPU";
        return error;
    }
    auto found = (*driver)->enumerate(gpu::Links::kLeaveOut);
    if (!found) return std::move(found).error();
    inventory = *std::move(found);
    for (const RunDevice& one : devices_of(inventory)) {
        devices.push_back({.index = one.index,
                           .uuid = one.uuid,
                           .model = one.model,
                           .memory_bytes = one.memory_bytes,
                           .is_mig = one.index.contains(':')});
    }
    tell_parents(inventory, devices);
    return devices;
}

/// What holds a share: aliquot run, which starts the program as the one who submitted it.
std::vector<std::string> guarded(const ServeOptions& options, const std::string& program,
                                 const job_server::Record& record, const std::string& uuid) {
    std::vector<std::string> words{program, "run", "--gpu", uuid};
    if (!record.request.gpu_memory.empty()) {
        words.insert(words.end(), {"--gpu-memory", record.request.gpu_memory});
    }
    if (record.request.gpu_compute != 0) {
        words.insert(words.end(), {"--gpu-compute", std::to_string(record.request.gpu_compute)});
    }
    if (!options.driver.node_state.empty()) {
        words.insert(words.end(), {"--node-state", host_of(options.driver).native()});
    }
    if (!options.driver.driver_root.empty()) {
        words.insert(words.end(), {"--driver-root", options.driver.driver_root});
    }
    const std::string name = std::filesystem::path(record.request.command.front()).filename();
    if (!name.empty()) words.push_back("--name=" + name);  // no option, whatever it begins with
    words.insert(words.end(), {"--", program, "serve", "--run-guarded"});
    return words;
}

/// Root's runs are in one book, whoever submitted them: users share a GPU's memory and its turns.
std::map<std::string, std::string> environment_of_guard(
    const std::map<std::string, std::string>& of_jobs) {
    std::map<std::string, std::string> environment = of_jobs;
    environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
    constexpr const char* kBooks = "ALIQUOT_RUN_DIRECTORY";
    if (const std::string books = variable_of_shell(kBooks); !books.empty())
        environment[kBooks] = books;
    return environment;
}

/// Simulated GPUs are never idle: nobody measures them.
Result<Done> watch_idle(const ServeOptions& words, const gpu::Inventory& inventory,
                        job_server::Options& options) {
    auto policy = idle_policy(words.idle);
    if (!policy) return std::move(policy).error();
    options.idle = *policy;
    if (!words.gpus.empty()) return Done{};
    auto look = use_meter(words.driver, inventory);
    if (!look) return std::move(look).error();
    options.look = *std::move(look);
    // A few looks make a stretch.
    constexpr std::chrono::milliseconds kShortest{1'000};
    if (policy->after != 0) {
        options.look_every =
            std::clamp(std::chrono::milliseconds(policy->after / 8), kShortest, options.look_every);
    }
    return Done{};
}

Result<job_server::Options> keeper_options(const ServeOptions& words, gpu::Inventory& inventory) {
    job_server::Options options;
    auto devices = devices_here(words, inventory);
    if (!devices) return std::move(devices).error();
    if (devices->empty()) {
        return Error{ErrorCode::kUnavailable, "this machine has no GPU; --gpu a2 simulates one"};
    }
    options.devices = *std::move(devices);
    const auto output = k8s::parse_bytes(words.output);
    if (!output)
        return Error{ErrorCode::kInvalidInput, "--output-limit: " + output.error().message};
    options.output_bytes = *output;
    options.state = fs::absolute(words.state.empty() ? usual_state() : fs::path(words.state));
    options.most_jobs = words.most_jobs;
    options.grace = std::chrono::seconds(words.grace);
    options.cgroup = control_group();
    std::error_code problem;
    const std::string program = fs::read_symlink("/proc/self/exe", problem).native();
    options.runner = {program, "serve", "--run-attempt"};
    options.gang = {program, "serve", "--run-gang"};
    options.container = container_program(words.container);
    if (words.gpus.empty()) {
        options.guard = [words, program](const job_server::Record& record,
                                         const std::string& uuid) {
            return guarded(words, program, record, uuid);
        };
    }
    point_at_node(words.driver, options.environment);
    options.guard_environment = environment_of_guard(options.environment);
    if (auto done = watch_idle(words, inventory, options); !done) return std::move(done).error();
    return options;
}

Result<http::ServerOptions> server_options(const ServeOptions& words) {
    http::ServerOptions options;
    options.address = job_server_at(words.socket);
    if (!options.address.starts_with("unix:")) {
        return Error{ErrorCode::kInvalidInput,
                     "--socket: '" + one_line(options.address, 100) +
                         "' is not a unix socket; expected unix:/run/aliquot/jobs.sock"};
    }
    const auto mode = parse_number<unsigned>(words.mode, 8);
    constexpr unsigned kMost = 0666;
    if (!mode || (*mode & ~kMost) != 0) {
        return Error{ErrorCode::kInvalidInput, "--socket-mode: '" + one_line(words.mode, 20) +
                                                   "' is wrong; expected 0600, 0660 or 0666"};
    }
    options.socket_mode = *mode;
    if (!words.group.empty()) {
        const auto number = group_number(words.group);
        if (!number) return number.error();
        options.socket_group = *number;
    }
    options.methods = {"GET", "POST", "DELETE"};
    options.most_body_bytes = kMostBody;
    return options;
}

/// Null: costs are not recorded. The keeper tells it of jobs, so it goes after the keeper.
Result<std::unique_ptr<job_server::Costs>> costs_of(const ServeOptions& words,
                                                    job_server::Options& options,
                                                    const gpu::Inventory& inventory) {
    std::error_code problem;
    fs::create_directories(options.state, problem);
    auto costs = serve_costs(words.cost, options.state.native(), options.devices,
                             words.gpus.empty() ? &words.driver : nullptr, inventory);
    if (!costs || *costs == nullptr) return costs;
    options.told = [of = costs->get()](const job_server::Record& record) { of->told(record); };
    options.held = [of = costs->get()](const job_server::Record& record) {
        return of->held(record);
    };
    return costs;
}

void serve(Context& context, const ServeOptions& words) {
    if (!words.attempt.empty()) {
        context.exit_code = job_server::run_attempt(words.attempt);
        return;
    }
    if (!words.guarded.empty()) {
        context.exit_code = job_server::run_guarded(words.guarded);
        return;
    }
    if (words.gang != 0) {
        context.exit_code = job_server::run_gang(words.gang, words.gang_command);
        return;
    }
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&ends, number);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the first thread
    auto passed = os::take_passed_socket();
    if (!passed) return fail(context, exit_code_of(passed.error()), passed.error().message);
    auto wish = server_options(words);
    if (!wish) return fail(context, exit_code_of(wish.error()), wish.error().message);
    gpu::Inventory inventory;
    auto options = keeper_options(words, inventory);
    if (!options) return fail(context, exit_code_of(options.error()), options.error().message);
    const auto costs = costs_of(words, *options, inventory);
    if (!costs) return fail(context, exit_code_of(costs.error()), costs.error().message);
    const std::string cgroup = options->cgroup;
    const std::size_t count = options->devices.size();
    const auto keeper = job_server::Keeper::start(*std::move(options));
    if (!keeper) return fail(context, exit_code_of(keeper.error()), keeper.error().message);
    const std::string address = passed->has_value() ? "unix:" + (*passed)->path : wish->address;
    auto pages = job_server::pages_of(**keeper, costs->get());
    const auto server =
        passed->has_value()
            ? http::Server::take(std::move((*passed)->socket), *std::move(wish), std::move(pages))
            : http::Server::listen(*std::move(wish), std::move(pages));
    if (!server) return fail(context, exit_code_of(server.error()), server.error().message);
    auto* const accounts = *costs == nullptr ? nullptr : &(*costs)->accounts();
    ServedPage page;
    if (words.page != "off") {
        const std::string program = (context.program_directory / "aliquot").native();
        auto served = serve_jobs_page(**keeper, words.page, words.page_web_config,
                                      page::Checkup(page::examination_of({.program = program})),
                                      page::look_at(accounts, cost::By::kUser));
        if (!served) {
            const Error error = std::move(served).error().during("--page");
            return fail(context, exit_code_of(error), error.message);
        }
        page = *std::move(served);
        context.out << "aliquot: page at " << page.url << "\n";
    }
    context.out << "aliquot: serving jobs at " << address << ": " << counted(count, "GPU") << ", "
                << counted((*keeper)->living(), "job")
                << (cgroup.empty() ? "; no control group: process groups keep jobs together" : "")
                << std::endl;
    int number = 0;
    ::sigwait(&ends, &number);
    context.err << "aliquot: ends; jobs that run go on, and are found again\n";
}

}  // namespace

void add_serve_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "serve", "Serve GPU jobs on this machine: queue, run and keep them across restarts");
    const auto words = std::make_shared<ServeOptions>();
    command->add_option("--run-attempt", words->attempt, "", "DIR")->hidden();
    command->add_option("--run-guarded", words->guarded, "", "DIR")->hidden();
    command->add_option("--run-gang", words->gang, "", "N")->hidden();
    command->add_option("COMMAND", words->gang_command, "", " ")->hidden();
    command->add_option(
        "--state", words->state,
        "Directory of the journal and of outputs; default /var/lib/aliquot/jobs, or "
        "~/.local/state/aliquot/jobs",
        "DIR");
    command->add_option(
        "--socket", words->socket,
        "Where to listen; default unix:/run/aliquot/jobs.sock, or below "
        "XDG_RUNTIME_DIR or ~/.local/state; a socket passed by systemd takes precedence",
        "unix:PATH");
    command->add_option("--socket-mode", words->mode, "Who may connect, as a file mode", "MODE")
        ->capture_default_str();
    command->add_option("--socket-group", words->group, "Group of the socket", "NAME");
    command
        ->add_option("--gpu", words->gpus,
                     "Simulate GPUs instead of asking the driver: a2, a100-80:8; may be given "
                     "several times",
                     "MODEL[:N]")
        ->allow_extra_args(false);
    command->add_option(
        "--page", words->page,
        "Where to show the web page with all jobs, as 127.0.0.1:8080 (port 0: a free "
        "one); default off",
        "ADDRESS");
    command->add_option("--page-web-config", words->page_web_config,
                        "Prometheus web-config file: TLS and passwords for the page, needed where "
                        "other machines can reach it",
                        "FILE");
    command
        ->add_option("--container", words->container,
                     "What runs jobs with an image: podman, nerdctl, docker, a path, none; auto: "
                     "the first of these that is installed",
                     "PROGRAM")
        ->capture_default_str();
    add_cost_flags(*command, words->cost);
    command
        ->add_option("--output-limit", words->output, "Maximum size of the output of one job",
                     "AMOUNT")
        ->capture_default_str();
    command->add_option("--most-jobs", words->most_jobs, "Limit of jobs that wait or run", "N")
        ->range(std::size_t{1}, std::size_t{1'000'000});
    command->add_option("--grace", words->grace, "Seconds between SIGTERM and SIGKILL", "SECONDS")
        ->range(0U, 3'600U);
    add_idle_flags(*command, words->idle);
    add_driver_flags(*command, words->driver);
    command->footer(
        "aliquot serve\naliquot serve --gpu a2:2 --state /tmp/jobs --socket unix:/tmp/jobs.sock");
    command->callback([words, &context] { serve(context, *words); });
}

}  // namespace aliquot::cli
